/// The smallest `capacity` of all offered elements.
struct BoundedHeap<Element> {
    /// The kept elements, the largest on top.
    private var heap: Heap<Element>
    private let precedes: (Element, Element) -> Bool

    init(by precedes: @escaping (Element, Element) -> Bool) {
        self.precedes = precedes
        heap = Heap(by: { precedes($1, $0) })
    }

    var elements: [Element] { heap.elements }

    /// Returns the element that a new one must precede to be kept; `nil` while there is room.
    func largest(whereFull capacity: Int) -> Element? { elements.count < capacity ? nil : heap.first }

    /// Keeps the element if it is among the smallest `capacity`. Drops the elements beyond them.
    mutating func offer(_ element: Element, capacity: Int) {
        while elements.count > capacity { _ = heap.removeFirst() }
        if elements.count < capacity {
            heap.insert(element)
        } else if let largest = heap.first, precedes(element, largest) {
            heap.replaceFirst(with: element)
        }
    }

    func sorted() -> [Element] { elements.sorted(by: precedes) }
}
