import DrainqCLI

let status = run(arguments: ownArguments())
end(with: status)
