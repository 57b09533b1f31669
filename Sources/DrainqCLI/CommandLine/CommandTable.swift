extension CommandDescription {
    package static let table: [CommandDescription] = [
        .initialize, .add, .send, .wait, .run, .list, .show, .status, .retry, .drop, .hold, .release, .pause, .resume,
        .export, .import, .check, .explain, .demo, .receive, .completions, .manual, .schema, .version, .help, .agent,
    ]
}
