import CSystem
import Policy

/// The descriptors, arguments and environment with which a child process starts. It inherits no other descriptor.
struct Spawn {
    /// The child's descriptors 0, 1 and 2; `nil` is /dev/null.
    var descriptors: (input: Int32, output: Int32?, errors: Int32?)
    var arguments: [String]
    var environment: ProgramEnvironment
    /// The child's working directory; `nil` for this process's own.
    var directory: String?
    /// The signals blocked until the child unblocks them.
    var blockedSignals: [Int32] = []
    /// Whether the child's signals have their default actions, whatever this process has set.
    var resetsSignals = false
    /// Whether the child leads a new process group, so that its own children can be killed with it.
    var beginsGroup = false

    /// Starts the program and returns its process ID. A program without a slash is looked up in PATH.
    func start(_ program: String) throws(Errno) -> pid_t {
        var actions = emptySpawnActions()
        var attributes = emptySpawnAttributes()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, descriptors.input, 0)
        for (number, given) in [(Int32(1), descriptors.output), (2, descriptors.errors)] {
            if let given {
                posix_spawn_file_actions_adddup2(&actions, given, number)
            } else {
                posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            }
        }
        if let directory { csystem_spawn_change_directory(&actions, directory.rawCString) }

        var flags = Int32(POSIX_SPAWN_SETSIGMASK) | closesOnSpawn
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in blockedSignals { sigaddset(&signals, signal) }
        posix_spawnattr_setsigmask(&attributes, &signals)
        if resetsSignals {
            sigfillset(&signals)
            posix_spawnattr_setsigdefault(&attributes, &signals)
            flags |= Int32(POSIX_SPAWN_SETSIGDEF)
        }
        if beginsGroup {
            posix_spawnattr_setpgroup(&attributes, 0)
            flags |= Int32(POSIX_SPAWN_SETPGROUP)
        }
        csystem_spawn_close_from(&actions, 3)
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var process: pid_t = 0
        // C arrays that end with a null pointer.
        let arguments = arguments.map { strdup($0.rawCString) } + [nil]
        let environment = environment.variables.map { strdup($0.rawCString) } + [nil]
        let failure = posix_spawnp(&process, program.rawCString, &actions, &attributes, arguments, environment)
        for text in arguments + environment { free(text) }
        guard failure == 0 else { throw Errno(failure) }
        return process
    }
}
