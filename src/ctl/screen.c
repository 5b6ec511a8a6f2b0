/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/screen.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"

#define OTHER_SCREEN "\033[?1049h\033[?25l" /* and no cursor */
#define OWN_SCREEN "\033[?25h\033[?1049l"
#define HOME "\033[H"
#define UP "\033[%uA"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"
#define DELETE 0x7f

struct screen {
	struct screen_callbacks callbacks;
	struct termios before;
	bool keyboard; /* standard input is a terminal, too */
	struct loop_io *input;
	struct loop_signal *resize;
};

bool
screen_is_there(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) == 1 && term != NULL &&
	       !str_equal(term, "") && !str_equal(term, "dumb");
}

void
screen_size(unsigned *ret_columns, unsigned *ret_rows)
{
	struct winsize size = { 0 };

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*ret_columns = size.ws_col > 0 ? size.ws_col : SCREEN_COLUMNS_DEFAULT;
	*ret_rows = size.ws_row > 0 ? size.ws_row : SCREEN_ROWS_DEFAULT;
}

char *
screen_clean(char *text, bool lines)
{
	for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
		bool c1 = c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0;

		if (c1)
			c[0] = c[1] = '?';
		else if ((*c < ' ' && !(lines && *c == '\n')) || *c == DELETE)
			*c = '?';
	}
	return text;
}

static bool
is_inside_character(char c)
{
	return ((unsigned char)c & 0xc0U) == 0x80U;
}

size_t
screen_fit(const char *text, unsigned columns)
{
	size_t len = 0;

	while (text[len] != '\0' && text[len] != '\n') {
		if (!is_inside_character(text[len]) && columns-- == 0)
			break;
		len++;
	}
	return len;
}

size_t
screen_break(const char *text, unsigned columns)
{
	size_t fit = screen_fit(text, columns);
	size_t len = fit;

	if (text[fit] == '\0')
		return fit;
	while (len > 0 && text[len] != ' ')
		len--;
	return len > 0 ? len : fit;
}

void
screen_rewrite(const char *text, unsigned *above)
{
	unsigned columns, rows, line = 0;
	size_t len;

	screen_size(&columns, &rows);
	/* The last column is left free: some terminals wrap there. */
	columns = columns > 1 ? columns - 1 : 1;
	if (*above > 0)
		(void)printf(UP, *above);
	(void)printf("\r");
	len = screen_break(text, columns);
	for (; text[len] != '\0' && line + 1 < rows; line++) {
		(void)printf("%.*s" CLEAR_LINE "\n", (int)len, text);
		text += len + strspn(text + len, " ");
		len = screen_break(text, columns);
	}
	(void)printf("%.*s" CLEAR_BELOW, (int)len, text);
	(void)fflush(stdout);
	*above = line;
}

static void
on_input(unsigned ready, void *arg)
{
	struct screen *s = arg;
	char key;
	ssize_t len;

	(void)ready;
	len = read(STDIN_FILENO, &key, 1);
	if (len == 1)
		s->callbacks.pressed(key, s->callbacks.arg);
	else if (len == 0 || errno != EAGAIN)
		loop_io_want(s->input, 0);
}

static void
on_resize(int signo, void *arg)
{
	struct screen *s = arg;

	(void)signo;
	s->callbacks.resized(s->callbacks.arg);
}

static void
write_now(const char *text)
{
	(void)fputs(text, stdout);
	(void)fflush(stdout);
}

struct screen *
screen_open(struct loop *loop, const struct screen_callbacks *callbacks)
{
	struct screen *s = xmalloc0(sizeof(*s));
	struct termios mode;

	s->callbacks = *callbacks;
	s->keyboard = tcgetattr(STDIN_FILENO, &s->before) == 0;
	if (s->keyboard) {
		mode = s->before;
		mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		mode.c_cc[VMIN] = 1;
		mode.c_cc[VTIME] = 0;
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &mode);
		s->input = loop_io_new(loop, STDIN_FILENO, on_input, s);
		loop_io_want(s->input, LOOP_READ);
	}
	s->resize = loop_signal_new(loop, SIGWINCH, on_resize, s);
	write_now(OTHER_SCREEN);
	return s;
}

void
screen_close(struct screen *s)
{
	if (s == NULL)
		return;
	write_now(OWN_SCREEN);
	if (s->keyboard) {
		loop_io_free(s->input);
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
	}
	loop_signal_free(s->resize);
	free(s);
}

void
screen_draw(struct screen *s, const char *text)
{
	struct buf out = BUF_INIT(BUF_UNLIMITED);
	unsigned columns, rows, row = 0;

	(void)s;
	screen_size(&columns, &rows);
	(void)buf_append_str(&out, HOME);
	/* Cleared first: behind the last column that would take a character. */
	for (; row < rows && *text != '\0'; row++) {
		(void)buf_append_str(&out, row > 0 ? "\r\n" : "");
		(void)buf_append_str(&out, CLEAR_LINE);
		(void)buf_append(&out, text, screen_fit(text, columns));
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	if (row < rows)
		(void)buf_append_str(&out, "\r\n" CLEAR_BELOW);
	(void)buf_append(&out, "", 1);
	write_now((const char *)out.data);
	buf_done(&out);
}
