module example.com/house/broken

go 1.26
