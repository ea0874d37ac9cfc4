// Package manual writes the help of commands and their manual pages.
package manual
