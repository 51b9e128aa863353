/*
 * Command-line options as a table: see opt.h.
 */
#include "runtime/base/opt.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum {
	OPT_NAME_MAX = 64,   /* longer words are no option of ours */
	OPT_HELP_COLUMN = 30,
	OPT_NAMES_MAX = 128,
};

struct parser {
	const struct opt *table;
	unsigned int group;
	void *target;
	char **argv;
	int argc;
	int next; /* index of the next word */
	struct err *err;
	opt_visitor *visit; /* gets the options instead of their setters */
};

static const struct opt *find_long(const struct parser *p, const char *name, size_t len)
{
	for (const struct opt *o = p->table; o->name; o++) {
		if (!(o->groups & p->group))
			continue;
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
		if (o->alias && strlen(o->alias) == len && memcmp(o->alias, name, len) == 0)
			return o;
	}
	return NULL;
}

static const struct opt *find_short(const struct parser *p, char letter)
{
	for (const struct opt *o = p->table; o->name; o++)
		if ((o->groups & p->group) && o->letter == letter)
			return o;
	return NULL;
}

/* Levenshtein distance of two short words; of a longer one, further than any. */
static size_t distance(const char *a, const char *b)
{
	size_t row[OPT_NAME_MAX + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > OPT_NAME_MAX || m > OPT_NAME_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t above = row[j];
			size_t change = diagonal + (a[i - 1] != b[j - 1]);
			size_t insert_or_remove = MIN(above, row[j - 1]) + 1;
			row[j] = MIN(insert_or_remove, change);
			diagonal = above;
		}
	}
	return row[m];
}

const char *opt_nearest(const char *word, const char *const *names, size_t count)
{
	const char *best = NULL;
	size_t best_distance = strlen(word) / 3 + 1;

	for (size_t i = 0; i < count; i++) {
		size_t d = distance(word, names[i]);
		if (d <= best_distance) {
			best_distance = d > 0 ? d - 1 : 0;
			best = names[i];
		}
	}
	return best;
}

static int unknown_long(const struct parser *p, const char *name, size_t len)
{
	const char *names[OPT_NAMES_MAX];
	char word[OPT_NAME_MAX + 1];
	size_t count = 0;

	len = MIN(len, (size_t) OPT_NAME_MAX);
	memcpy(word, name, len);
	word[len] = '\0';
	for (const struct opt *o = p->table; o->name && count < ARRAY_LEN(names); o++)
		if ((o->groups & p->group) && o->help)
			names[count++] = o->name;
	const char *near = opt_nearest(word, names, count);
	if (near)
		return err_set(p->err, ERR_USAGE, EINVAL, "unknown option '--%s': did you mean '--%s'? See --help", word, near);
	return err_set(p->err, ERR_USAGE, EINVAL, "unknown option '--%s': see --help for those that exist", word);
}

static int take(const struct parser *p, const struct opt *o, const char *value)
{
	if (!p->visit)
		return o->set(p->target, o, value, p->err);
	p->visit(p->target, o, value);
	return 0;
}

static int next_value(struct parser *p, const char *shown, const struct opt *o, const char **ret)
{
	if (p->next >= p->argc)
		return err_set(p->err, ERR_USAGE, EINVAL, "option '%s' needs an argument (%s)", shown, o->arg);
	*ret = p->argv[p->next++];
	return 0;
}

static int take_long(struct parser *p, const char *word)
{
	const char *name = word + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t) (equals - name) : strlen(name);
	const struct opt *o = find_long(p, name, len);
	const char *value = equals ? equals + 1 : NULL;

	if (!o)
		return unknown_long(p, name, len);
	if (o->arg && !value) {
		int r = next_value(p, word, o, &value);
		if (r < 0)
			return r;
	}
	if (!o->arg && value && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
		return err_set(p->err, ERR_USAGE, EINVAL, "option '--%s' takes no argument but '=true' or '=false'", o->name);
	return take(p, o, value);
}

static int take_short(struct parser *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		const struct opt *o = find_short(p, *c);
		const char *value = NULL;

		if (!o)
			return err_set(p->err, ERR_USAGE, EINVAL, "unknown option '-%c' in '%s': see --help", *c, word);
		if (o->arg) {
			int r = 0;
			if (c[1])
				value = c + 1;
			else
				r = next_value(p, word, o, &value);
			if (r < 0)
				return r;
			return take(p, o, value);
		}
		int r = take(p, o, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

/* An operand, which goes to the front of argv; a visit leaves argv as it is. */
static void take_operand(struct parser *p, int *operands, char *word)
{
	if (!p->visit)
		p->argv[*operands] = word;
	(*operands)++;
}

static int parse(struct parser *p, enum opt_order order)
{
	int operands = 0;

	while (p->next < p->argc) {
		char *word = p->argv[p->next++];
		int r = 0;

		if (strcmp(word, "--") == 0) {
			while (p->next < p->argc)
				take_operand(p, &operands, p->argv[p->next++]);
			break;
		}
		if (word[0] == '-' && word[1] == '-') {
			r = take_long(p, word);
		} else if (word[0] == '-' && word[1]) {
			r = take_short(p, word);
		} else {
			take_operand(p, &operands, word);
			while (order == OPT_STOP_AT_OPERAND && p->next < p->argc)
				take_operand(p, &operands, p->argv[p->next++]);
		}
		if (r < 0)
			return r;
	}
	return operands;
}

int opt_parse(const struct opt *table, unsigned int group, enum opt_order order, void *target, int argc, char **argv,
	      struct err *err)
{
	struct parser p = {
		.table = table, .group = group, .target = target, .argv = argv, .argc = argc, .err = err,
	};

	return parse(&p, order);
}

void opt_visit(const struct opt *table, unsigned int group, enum opt_order order, opt_visitor *visit, void *userdata, int argc,
	       char **argv)
{
	struct parser p = {
		.table = table, .group = group, .target = userdata, .argv = argv, .argc = argc, .visit = visit,
	};

	IGNORE_RESULT(parse(&p, order));
}

void opt_help(const struct opt *table, unsigned int group, struct buf *out)
{
	for (const struct opt *o = table; o->name; o++) {
		if (!(o->groups & group) || !o->help)
			continue;
		size_t start = out->len;
		if (o->letter)
			buf_addf(out, "  -%c, ", o->letter);
		else
			buf_add_str(out, "      ");
		buf_addf(out, "--%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
		if (out->len - start >= OPT_HELP_COLUMN) {
			buf_add_char(out, '\n');
			start = out->len;
		}
		buf_addf(out, "%*s%s\n", OPT_HELP_COLUMN - (int) (out->len - start), "", o->help);
	}
}

/* Text for mdoc: a backslash is doubled, a leading dot or quote is shielded. */
static void man_text(struct buf *out, const char *text)
{
	bool line_start = true;

	for (const char *c = text; *c; c++) {
		if (line_start && (*c == '.' || *c == '\''))
			buf_add_str(out, "\\&");
		if (*c == '\\')
			buf_add_str(out, "\\e");
		else if (*c == '-')
			buf_add_str(out, "\\-");
		else
			buf_add_char(out, *c);
		line_start = *c == '\n';
	}
}

void opt_man(const struct opt *table, unsigned int group, struct buf *out)
{
	for (const struct opt *o = table; o->name; o++) {
		if (!(o->groups & group) || !o->help)
			continue;
		buf_add_str(out, ".It");
		if (o->letter)
			buf_addf(out, " Fl %c ,", o->letter);
		buf_addf(out, " Fl \\-%s", o->name);
		if (o->arg)
			buf_addf(out, " Ar %s", o->arg);
		buf_add_char(out, '\n');
		char first[2] = { o->help[0], '\0' };
		if (first[0] >= 'a' && first[0] <= 'z')
			first[0] = (char) (first[0] - 'a' + 'A');
		man_text(out, first);
		man_text(out, o->help + 1);
		buf_add_str(out, ".\n");
		if (o->detail) {
			man_text(out, o->detail);
			buf_add_char(out, '\n');
		}
	}
}

void opt_words(const struct opt *table, unsigned int group, struct buf *out)
{
	for (const struct opt *o = table; o->name; o++) {
		if (!(o->groups & group) || !o->help)
			continue;
		buf_addf(out, "%s--%s", out->len ? " " : "", o->name);
		if (o->letter)
			buf_addf(out, " -%c", o->letter);
	}
}
