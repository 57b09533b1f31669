/// The version of the program, as `drainq version` and the manual give it.
package let programVersion = "0.1.0"
