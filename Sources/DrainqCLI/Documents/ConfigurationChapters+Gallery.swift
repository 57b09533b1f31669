/// The examples, as tables: `GalleryEntry.table` has a row for each.
extension ConfigurationChapters {
    static let gallery =
        #"""
        .Sh GALLERY
        For these services there are configurations:
        .Nm drainq Cm init Fl -example Ar NAME
        writes one of them into a new queue, and its first lines say how it is used.
        They are tested against the server itself where the table says real, and else
        against an emulation that was written from the documentation of the service.
        .Bl -column "victoriametrics" "emulated" "the newest" "by customer" "duplicates"
        .It Em example Ta Em tested Ta Em requests Ta Em order Ta Em duplicates removed by

        """#
        + GalleryEntry.table.map { entry in
            let cells = [entry.isReal ? "real" : "emulated", entry.requests, entry.order, entry.duplicates]
            return row(entry.name, cells)
        }.joined()
            + #"""
            .El
            .Pp
            What their errors mean, besides what
            .Xr drainq 1
            says of every answer:
            .Bl -column "victoriametrics" "429: queue is full" "403, 404, 410: token" "failed"
            .It Em example Ta Em deferred Ta Em held Ta Em failed

            """#
        + GalleryEntry.table.map { row($0.name, [$0.deferred, $0.held, $0.failed]) }.joined()
            + """
            .El

            """

    private static func row(_ name: String, _ cells: [String]) -> String {
        ".It Li \(name) Ta \(cells.map { $0.isEmpty ? "-" : $0 }.joined(separator: " Ta "))\n"
    }
}
