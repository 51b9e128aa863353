/*
 * Media types: see mime.h. Runs in cloche-mcp, on any thread, without any capability.
 */
#include "mcp/mime.h"

#include <string.h>
#include <strings.h>

#define BYTES(text) (text), sizeof(text) - 1

/* What a file of a kind begins with. */
static const struct {
	const char *bytes;
	size_t len;
	const char *more; /* four bytes at MORE_AT, or NULL */
	const char *type;
} pictures[] = {
	{ BYTES("\x89PNG\r\n\x1a\n"), NULL, "image/png" },
	{ BYTES("\xff\xd8\xff"), NULL, "image/jpeg" },
	{ BYTES("GIF87a"), NULL, "image/gif" },
	{ BYTES("GIF89a"), NULL, "image/gif" },
	{ BYTES("RIFF"), "WEBP", "image/webp" },
};

enum { MORE_AT = 8, MORE_LEN = 4 };

/* The part of a name behind its last dot. */
static const struct {
	const char *extension;
	const char *type;
	bool is_text;
} extensions[] = {
	{ "adoc", "text/asciidoc", true },
	{ "avif", "image/avif", false },
	{ "bash", "text/x-shellscript", true },
	{ "bmp", "image/bmp", false },
	{ "bz2", "application/x-bzip2", false },
	{ "c", "text/x-c", true },
	{ "cc", "text/x-c++", true },
	{ "cfg", MIME_TEXT, true },
	{ "conf", MIME_TEXT, true },
	{ "cpp", "text/x-c++", true },
	{ "cs", "text/x-csharp", true },
	{ "css", "text/css", true },
	{ "csv", "text/csv", true },
	{ "diff", "text/x-diff", true },
	{ "go", "text/x-go", true },
	{ "gz", "application/gzip", false },
	{ "h", "text/x-c", true },
	{ "hpp", "text/x-c++", true },
	{ "htm", "text/html", true },
	{ "html", "text/html", true },
	{ "ico", "image/vnd.microsoft.icon", false },
	{ "ini", MIME_TEXT, true },
	{ "ipynb", "application/x-ipynb+json", true },
	{ "jar", "application/java-archive", false },
	{ "java", "text/x-java", true },
	{ "js", "text/javascript", true },
	{ "json", "application/json", true },
	{ "jsonl", "application/jsonl", true },
	{ "jsx", "text/javascript", true },
	{ "kt", "text/x-kotlin", true },
	{ "lua", "text/x-lua", true },
	{ "markdown", "text/markdown", true },
	{ "md", "text/markdown", true },
	{ "mjs", "text/javascript", true },
	{ "mp3", "audio/mpeg", false },
	{ "mp4", "video/mp4", false },
	{ "otf", "font/otf", false },
	{ "patch", "text/x-diff", true },
	{ "pdf", "application/pdf", false },
	{ "php", "text/x-php", true },
	{ "pl", "text/x-perl", true },
	{ "py", "text/x-python", true },
	{ "pyi", "text/x-python", true },
	{ "rb", "text/x-ruby", true },
	{ "rs", "text/x-rust", true },
	{ "rst", "text/x-rst", true },
	{ "sh", "text/x-shellscript", true },
	{ "sql", "application/sql", true },
	{ "svg", "image/svg+xml", true },
	{ "swift", "text/x-swift", true },
	{ "tar", "application/x-tar", false },
	{ "toml", "application/toml", true },
	{ "ts", "text/typescript", true },
	{ "tsv", "text/tab-separated-values", true },
	{ "tsx", "text/typescript", true },
	{ "ttf", "font/ttf", false },
	{ "txt", MIME_TEXT, true },
	{ "wasm", "application/wasm", false },
	{ "wav", "audio/wav", false },
	{ "woff", "font/woff", false },
	{ "woff2", "font/woff2", false },
	{ "xml", "application/xml", true },
	{ "xz", "application/x-xz", false },
	{ "yaml", "application/yaml", true },
	{ "yml", "application/yaml", true },
	{ "zip", "application/zip", false },
	{ "zst", "application/zstd", false },
};

const char *mime_of_picture(const char *s, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(pictures); i++) {
		if (n < pictures[i].len || memcmp(s, pictures[i].bytes, pictures[i].len) != 0)
			continue;
		if (!pictures[i].more || (n >= MORE_AT + MORE_LEN && memcmp(s + MORE_AT, pictures[i].more, MORE_LEN) == 0))
			return pictures[i].type;
	}
	return NULL;
}

const char *mime_of(const char *name, const char *s, size_t n, bool is_text)
{
	const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name, *dot = strrchr(last, '.');
	const char *picture = is_text ? NULL : mime_of_picture(s, n);

	if (picture)
		return picture;
	for (size_t i = 0; dot && dot != last && i < ARRAY_LEN(extensions); i++)
		if (strcasecmp(dot + 1, extensions[i].extension) == 0 && extensions[i].is_text == is_text)
			return extensions[i].type;
	return is_text ? MIME_TEXT : MIME_BYTES;
}
