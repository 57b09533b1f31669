import DrainqCLI
