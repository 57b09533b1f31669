/// The version of the program, as `drainq version` and the manual print it.
package let programVersion = "0.2.0"
