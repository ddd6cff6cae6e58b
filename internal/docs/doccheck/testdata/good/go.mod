module example.com/house/good

go 1.26
