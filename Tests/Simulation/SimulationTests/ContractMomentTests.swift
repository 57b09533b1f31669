import Policy
import Simulation
import Testing

/// Gaps of sentences about the moment at which something counts. Each story has a twin that breaks the sentence.

@Test(arguments: [true, false])
func `nothing from nowhere: a request counts from its hand-over, and not from its arrival`(isBefore: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.event(90, .commands(Command(.pause)))
    if isBefore { story.event(1, .submits([1])) }
    story.event(90, .done)
    story.wait(.seconds(9))
    if !isBefore { story.event(1, .submits([1])) }
    story.send([1], by: 1)
    #expect(story.broken.contains(.nothingFromNowhere) == !isBefore)
}
