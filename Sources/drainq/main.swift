import DrainqCLI

DrainqCLI.main(CommandLine.arguments)
