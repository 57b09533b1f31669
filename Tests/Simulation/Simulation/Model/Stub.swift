package struct Breach: Hashable, Sendable { package var property: String; package var sentence: String }
package enum Contract { package static func broken(by history: History) -> [Breach] { [] } }
