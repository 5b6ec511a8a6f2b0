/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/who.h"

#include <assert.h>
#include <string.h>

#include "base/array.h"
#include "base/str.h"

#define PREFIX "system:serviceaccount:"

static const char *const accounts[] = {
	[WHO_OTHER] = NULL,
	[WHO_API] = "kubevirt-api",
	[WHO_CONTROLLER] = "kubevirt-controller",
	[WHO_HANDLER] = "kubevirt-handler",
	[WHO_OPERATOR] = "kubevirt-operator",
};
static_assert(ARRAY_LEN(accounts) == WHO_COUNT, "names");

enum who
who_is(const char *user, const char *ns)
{
	const char *name = user + strlen(PREFIX);

	if (!str_has_prefix(user, PREFIX) || !str_has_prefix(name, ns) ||
	    name[strlen(ns)] != ':')
		return WHO_OTHER;
	name += strlen(ns) + 1;
	for (size_t i = WHO_OTHER + 1; i < ARRAY_LEN(accounts); i++) {
		if (strcmp(accounts[i], name) == 0)
			return (enum who)i;
	}
	return WHO_OTHER;
}

struct check_user
who_check_user(const char *user, const char *ns)
{
	enum who who = who_is(user, ns);

	return (struct check_user){
		.name = user,
		.internal = who != WHO_OTHER,
		.controller = who == WHO_CONTROLLER,
	};
}
