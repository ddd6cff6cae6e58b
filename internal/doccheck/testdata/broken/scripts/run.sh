echo this
