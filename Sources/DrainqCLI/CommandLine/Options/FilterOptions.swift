import Drain
import Policy

/// The filters that choose operations. A filter that is not given lets every operation pass.
struct FilterOptions {
    var states: [ShownState] = []
    var destinations: [String] = []
    var types: [TypeName] = []
    var key: String?
    var answers: [AnswerPattern] = []
    var since: PointInTime?
    var before: PointInTime?

    var isGiven: Bool { !(states.isEmpty && destinations.isEmpty) || namesOperations }

    /// Whether a filter is given that applies to operations only, not to a whole destination.
    var namesOperations: Bool {
        !(states.isEmpty && types.isEmpty && answers.isEmpty) || key != nil || since != nil || before != nil
    }

    @OptionList<Self> static var options: [Option<Self>] {
        Option(
            .state, .choice, each: \.states, group: .filter, "in this state",
            """
            In this state; given more than once, in any of these. `held` includes the operations of held \
            destinations; `new` and `deferred` are the other operations that wait.
            """)
        Option(
            .destination, .destination, each: \.destinations, group: .filter, "for this destination",
            "For this destination, by its name as `drainq status` shows it; given more than once, for any of these.")
        Option(
            .type, short: "t", .typeName, each: \.types, group: .filter, "of this type",
            "Of this type; given more than once, of any of these.")
        Option(.key, .text("KEY"), \.key, group: .filter, "with this key", "With exactly this key.")
        Option(
            .status, .answer, each: \.answers, group: .filter, "by the answer to the last attempt",
            """
            Whose last attempt ended with this: a status such as `503`, a range such as `500-599` or `5xx`, or the name of an \
            error such as `timeout`, as for `drainq explain`; given more than once, any of these. The filter reads \
            each file.
            """)
        Option(
            .since, .time(.past), \.since, group: .filter, "created at this time or later",
            "Created at this time or later; `2h` is two hours ago.")
        Option(
            .before, .time(.past), \.before, group: .filter, "created before this time",
            "Created before this time; `30d` is thirty days ago.")
    }
}
