/// A binary heap: the element that precedes all others stands on top.
struct Heap<Element> {
    private(set) var elements: [Element] = []
    private let precedes: (Element, Element) -> Bool

    init(by precedes: @escaping (Element, Element) -> Bool) { self.precedes = precedes }

    var first: Element? { elements.first }

    mutating func insert(_ element: Element) {
        elements.append(element)
        siftUp()
    }

    /// Removes and returns the top. The heap must not be empty.
    mutating func removeFirst() -> Element {
        elements.swapAt(0, elements.count - 1)
        let first = elements.removeLast()
        siftDown()
        return first
    }

    /// Replaces the top. The heap must not be empty.
    mutating func replaceFirst(with element: Element) {
        elements[0] = element
        siftDown()
    }

    private mutating func siftUp() {
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard precedes(elements[child], elements[parent]) else { return }
            elements.swapAt(parent, child)
            child = parent
        }
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var top = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < elements.count {
                if precedes(elements[child], elements[top]) { top = child }
            }
            if top == parent { return }
            elements.swapAt(parent, top)
            parent = top
        }
    }
}
