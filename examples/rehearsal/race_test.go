//go:build race

package main

// underRace: the detector makes everything several times slower. There only TestShadowAct
// plays the shadow, the tests of the other acts leave it out.
const underRace = true
