import DrainqCLI

let status = run(arguments: Array(CommandLine.arguments.dropFirst()))
end(with: status)
