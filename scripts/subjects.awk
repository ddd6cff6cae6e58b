# Checks the subjects of commits: at most 60 characters, no full stop, and "package: verb".
BEGIN { # words that begin a description, and no imperative
	n = split("a an the what who which it its they this that these those there one no not never some any all each every is are was were", list)
	for (; n > 0; n--) described[list[n]] = 1
}
{
	problem = ""
	verb = $0
	if (length > 60) problem = "longer than 60 characters"
	else if (/\.$/) problem = "ends with a full stop"
	else if (!sub(/^[^ :]+(, [^ :]+)*: /, "", verb)) problem = "does not begin with the package and a colon"
	else if (split(verb, list, " ") == 0 || list[1] !~ /^[a-z]+$/ || list[1] in described) problem = "has no verb in lower case behind the colon"
	if (problem != "") { print "commit subject " problem ": " $0; bad = 1 }
}
END { print "checked " NR " commit subjects"; exit bad }
