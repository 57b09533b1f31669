// swift-tools-version: 6.2
import PackageDescription

/// Imports run one way: Policy <- Spool, Delivery <- Drain <- DrainqCLI <- drainq, and Policy <- Configuration <- DrainqCLI,
/// SpoolWriter. ArchitectureTests checks it.
/// SpoolWriter, for programs that enqueue without a process, is Spool's other user.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
    // A program begins sooner if it knows the conformances of the arguments of its generic types: else the runtime looks each
    // of them up in the tables of all libraries.
    .unsafeFlags(
        ["-Xfrontend", "-disable-concrete-type-metadata-mangled-name-accessors"], .when(configuration: .release)),
]

/// The functions of libcurl that drainq-urlsession puts before FoundationNetworking's. The linker offers them to a dynamic
/// FoundationNetworking only if they are named. A static one asks for `-lcurl`, and gets a library that is empty.
let curlOfFoundation: [LinkerSetting] = [
    .unsafeFlags(
        ["-L\(Context.packageDirectory)/Sources/CFoundationCurl/linker"]
            + [
                "easy_init", "easy_cleanup", "easy_setopt", "easy_getinfo", "multi_setopt", "multi_add_handle",
                "multi_assign",
                "multi_socket_action", "multi_info_read",
            ].flatMap { ["-Xlinker", "--export-dynamic-symbol=curl_\($0)"] }
            + ["-Xlinker", "--export-dynamic-symbol=sleep"], .when(platforms: [.linux]))
]

/// A program begins in seven eighths of the time if the linker does not offer its symbols to libraries, and in nine tenths
/// of that if LLVM's linker, which the toolchain has, links it.
let closed: [LinkerSetting] = [
    .unsafeFlags(
        ["-use-ld=lld", "-Xlinker", "--no-export-dynamic"], .when(platforms: [.linux], configuration: .release))
]

let package = Package(
    name: "drainq",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "drainq", targets: ["drainq"]),
        .library(name: "SpoolWriter", targets: ["SpoolWriter"]),
    ],
    targets: [
        .target(name: "CPlatform"),
        .target(name: "CSystem", dependencies: ["CPlatform"], swiftSettings: strict),
        .target(name: "CCurl"),
        .target(name: "CZlib"),
        // The manual pages, for `drainq manual`.
        .target(name: "CManual"),
        .target(name: "CFoundationCurl", dependencies: ["CCurl"], exclude: ["linker"]),
        .target(name: "Policy", swiftSettings: strict),
        .target(name: "Spool", dependencies: ["Policy", "CSystem"], swiftSettings: strict),
        .target(name: "Configuration", dependencies: ["Policy"], swiftSettings: strict),
        .target(name: "SpoolWriter", dependencies: ["Policy", "Configuration", "Spool"], swiftSettings: strict),
        .target(name: "Delivery", dependencies: ["Policy", "CSystem", "CCurl", "CZlib"], swiftSettings: strict),
        .target(name: "LoopbackReceiver", dependencies: ["CSystem"], swiftSettings: strict),
        .target(name: "Drain", dependencies: ["Policy", "Spool", "Delivery", "CSystem"], swiftSettings: strict),
        .target(
            name: "DrainqCLI",
            dependencies: [
                "Policy", "Configuration", "Spool", "Delivery", "Drain", "LoopbackReceiver", "CSystem", "CManual",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "drainq-urlsession", dependencies: ["Delivery", "Policy", "CSystem", "CFoundationCurl"],
            swiftSettings: strict,
            linkerSettings: curlOfFoundation),
        // drainq starts the other one, and is built with it.
        .executableTarget(
            name: "drainq", dependencies: ["DrainqCLI", "drainq-urlsession"], swiftSettings: strict,
            linkerSettings: closed),
        // Where tests make their files.
        .target(name: "Scratch", dependencies: ["CSystem"], path: "Tests/Scratch", swiftSettings: strict),
        // The receiver with manners that `drainq receive` does not have.
        .target(
            name: "HostileReceiver", dependencies: ["LoopbackReceiver", "CSystem"], path: "Tests/HostileReceiver",
            swiftSettings: strict),
        .testTarget(name: "PolicyTests", dependencies: ["Policy"], exclude: ["Vectors"], swiftSettings: strict),
        .testTarget(
            name: "ConfigurationTests", dependencies: ["Configuration", "Policy"], swiftSettings: strict),
        .testTarget(
            name: "SpoolTests", dependencies: ["Spool", "Policy", "CSystem", "Scratch"], swiftSettings: strict),
        .testTarget(
            name: "SpoolWriterTests", dependencies: ["SpoolWriter", "Spool", "Policy", "Scratch"], swiftSettings: strict
        ),
        .testTarget(
            name: "DeliveryTests",
            dependencies: ["Delivery", "Policy", "LoopbackReceiver", "HostileReceiver", "CSystem", "drainq"],
            swiftSettings: strict),
        .testTarget(
            name: "LoopbackReceiverTests",
            dependencies: ["LoopbackReceiver", "HostileReceiver", "DrainqCLI", "CSystem"],
            swiftSettings: strict),
        .testTarget(
            name: "DrainTests", dependencies: ["Drain", "Spool", "Delivery", "Policy", "CSystem", "Scratch"],
            swiftSettings: strict),
        .testTarget(
            name: "DrainqCLITests",
            dependencies: ["DrainqCLI", "Drain", "Configuration", "LoopbackReceiver", "Policy"], swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "LoopbackReceiver", "HostileReceiver", "DrainqCLI", "DrainqCLITests", "Policy", "drainq", "Scratch",
            ],
            exclude: ["Fixtures"], swiftSettings: strict),
        // Every history from a seed: the real code over a file system, servers and clocks in memory.
        .target(
            name: "Simulation",
            dependencies: ["Policy", "Configuration", "Spool", "SpoolWriter", "Delivery", "Drain", "CSystem"],
            path: "Tests/Simulation/Simulation", swiftSettings: strict),
        .executableTarget(
            name: "simulate", dependencies: ["Simulation"], path: "Tests/Simulation/simulate", swiftSettings: strict),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["Simulation", "simulate", "Policy", "Spool", "CSystem", "Scratch"],
            path: "Tests/Simulation/SimulationTests", swiftSettings: strict),
        .testTarget(name: "ArchitectureTests", swiftSettings: strict),
    ]
)
