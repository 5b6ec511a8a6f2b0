/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/xml.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"

static void
test_elements_nest_and_texts_are_escaped(void **state)
{
	AUTO(xml_done) struct xml *xml = xml_new();
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	xml_open(xml, "a");
	xml_attr(xml, "x", "'\"<&>");
	xml_attr(xml, "empty", "");
	xml_attrf(xml, "n", "%d", 7);
	xml_leaf(xml, "b", "</b>&amp;");
	xml_leaf(xml, "none", NULL);
	xml_open(xml, "c");
	xml_with(xml, "d", "y", "z");
	xml_with(xml, "e", "y", "");
	xml_close(xml);
	xml_close(xml);
	text = xml_finish(xml);
	assert_string_equal(text, "<a x=\"'&quot;&lt;&amp;&gt;\" n=\"7\">\n"
				  "  <b>&lt;/b&gt;&amp;amp;</b>\n"
				  "  <c>\n"
				  "    <d y=\"z\"/>\n"
				  "  </c>\n"
				  "</a>\n");
}

static void
test_what_xml_cannot_say_is_left_out(void **state)
{
	AUTO(xml_done) struct xml *xml = xml_new();
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	xml_open(xml, "a");
	xml_attr(xml, "x", "\x01z\x1b[0m");
	xml_text(xml, "\xffmore");
	xml_close(xml);
	text = xml_finish(xml);
	assert_string_equal(text, "<a x=\"z[0m\">\xef\xbf\xbdmore</a>\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elements_nest_and_texts_are_escaped),
		cmocka_unit_test(test_what_xml_cannot_say_is_left_out),
	};

	return cmocka_run_group_tests_name("xml", tests, NULL, NULL);
}
