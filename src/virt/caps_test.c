/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/caps.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/test.h"

static const char host[] =
	"<capabilities><host><cpu><arch>x86_64</arch><model>EPYC</model>"
	"<vendor>AMD</vendor><feature name='ht'/><feature name='svm'/></cpu>"
	"</host><guest><os_type>hvm</os_type><arch name='x86_64'>"
	"<machine maxCpus='255'>pc-q35-7.2</machine>"
	"<machine canonical='pc-q35-7.2'>q35</machine></arch></guest>"
	"<guest><arch name='i686'><machine>isapc</machine></arch></guest>"
	"</capabilities>";

static const char domain[] =
	"<domainCapabilities><cpu>"
	"<mode name='host-model' supported='yes'>"
	"<model fallback='forbid'>EPYC-Rome</model><vendor>AMD</vendor>"
	"<feature policy='require' name='x2apic'/>"
	"<feature policy='disable' name='xsaves'/></mode>"
	"<mode name='custom' supported='yes'>"
	"<model usable='yes'>qemu64</model>"
	"<model usable='no'>Skylake-Server</model>"
	"<model usable='yes'>EPYC</model></mode></cpu></domainCapabilities>";

static void
test_reads_what_the_host_offers(void **state)
{
	AUTO(virt_caps_done) struct virt_caps caps = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(virt_caps_parse(host, domain, &caps, &err), 0);
	assert_string_equal(caps.arch, "x86_64");
	assert_string_equal(caps.vendor, "AMD");
	assert_string_equal(caps.host_model, "EPYC-Rome");
	assert_int_equal(caps.host_features.count, 1);
	assert_string_equal(caps.host_features.items[0], "x2apic");
	assert_int_equal(caps.models.count, 2);
	assert_string_equal(caps.models.items[1], "EPYC");
	assert_int_equal(caps.features.count, 2);
	assert_int_equal(caps.machines.count, 2);
	assert_string_equal(caps.machines.items[1], "q35");
}

static void
test_a_host_that_says_little_is_read_too(void **state)
{
	AUTO(virt_caps_done) struct virt_caps caps = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(virt_caps_parse("<capabilities/>",
					 "<domainCapabilities/>", &caps, &err),
			 0);
	assert_string_equal(caps.vendor, "");
	assert_int_equal(caps.models.count, 0);
}

static void
test_what_is_no_xml_is_refused(void **state)
{
	struct virt_caps caps;
	struct err err;

	(void)state;
	assert_int_equal(virt_caps_parse("no", domain, &caps, &err), -1);
	assert_int_equal(virt_caps_parse(host, "<open>", &caps, &err), -1);
	assert_non_null(strstr(err.text, "domain capabilities"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_what_the_host_offers),
		cmocka_unit_test(test_a_host_that_says_little_is_read_too),
		cmocka_unit_test(test_what_is_no_xml_is_refused),
	};

	return cmocka_run_group_tests_name("caps", tests, NULL, NULL);
}
