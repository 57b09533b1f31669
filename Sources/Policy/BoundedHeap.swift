/// The smallest `capacity` of all elements that were offered; the largest of them stands on top.
struct BoundedHeap<Element> {
    private(set) var elements: [Element] = []
    private let precedes: (Element, Element) -> Bool

    init(by precedes: @escaping (Element, Element) -> Bool) {
        self.precedes = precedes
    }

    /// Keeps the element if it is among the smallest `capacity`, and drops what is beyond them.
    mutating func offer(_ element: Element, capacity: Int) {
        while elements.count > capacity { removeLargest() }
        if elements.count < capacity {
            elements.append(element)
            siftUp(from: elements.count - 1)
        } else if let largest = elements.first, precedes(element, largest) {
            elements[0] = element
            siftDown()
        }
    }

    func sorted() -> [Element] {
        elements.sorted(by: precedes)
    }

    private mutating func removeLargest() {
        elements.swapAt(0, elements.count - 1)
        elements.removeLast()
        siftDown()
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard precedes(elements[parent], elements[child]) else { return }
            elements.swapAt(parent, child)
            child = parent
        }
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var largest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < elements.count {
                if precedes(elements[largest], elements[child]) { largest = child }
            }
            if largest == parent { return }
            elements.swapAt(parent, largest)
            parent = largest
        }
    }
}
