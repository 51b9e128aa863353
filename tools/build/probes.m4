dnl The probes of configure.ac. They use no macro of pkg-config or automake, so that autoconf alone is enough.

dnl CLOCHE_LIBRARY(VARIABLE, MODULE, MINIMUM, DEBIAN-PACKAGE): sets VARIABLE_CFLAGS, _LIBS and _STATIC_LIBS, or stops.
AC_DEFUN([CLOCHE_LIBRARY], [
	AC_MSG_CHECKING([for $2 >= $3])
	AS_IF([$PKG_CONFIG --exists "$2 >= $3"],
	      [AC_MSG_RESULT([yes])],
	      [AC_MSG_RESULT([no])
	       AC_MSG_ERROR([the library $2, version $3 or newer, is missing. Debian: apt-get install $4. ./tools/deps installs all that is needed])])
	_CLOCHE_LIBRARY_RESULT([$1], [$2])
])

dnl CLOCHE_OPTIONAL_LIBRARY(VARIABLE, MODULE, MINIMUM, DEBIAN-PACKAGE, CONSEQUENCE): the same, but goes on without it.
AC_DEFUN([CLOCHE_OPTIONAL_LIBRARY], [
	AC_MSG_CHECKING([for $2 >= $3])
	AS_IF([$PKG_CONFIG --exists "$2 >= $3"],
	      [AC_MSG_RESULT([yes])
	       HAVE_$1=yes],
	      [AC_MSG_RESULT([no: $5. Debian: apt-get install $4])
	       HAVE_$1=no])
	_CLOCHE_LIBRARY_RESULT([$1], [$2])
	AC_SUBST([HAVE_$1])
])

AC_DEFUN([_CLOCHE_LIBRARY_RESULT], [
	$1_CFLAGS=`$PKG_CONFIG --cflags $2 2>/dev/null`
	$1_LIBS=`$PKG_CONFIG --libs $2 2>/dev/null`
	$1_STATIC_LIBS=`$PKG_CONFIG --static --libs $2 2>/dev/null`
	AC_SUBST([$1_CFLAGS])
	AC_SUBST([$1_LIBS])
	AC_SUBST([$1_STATIC_LIBS])
])

dnl _CLOCHE_TRY(FLAGS, IF-ACCEPTED, IF-NOT): compiles and links a small program; an unknown flag is an error.
AC_DEFUN([_CLOCHE_TRY], [
	cloche_saved_cflags=$CFLAGS
	CFLAGS="-Wall -Werror $1"
	AC_LINK_IFELSE([AC_LANG_SOURCE([[int main(int argc, char **argv) { (void) argv; return argc - 1; }]])], [$2], [$3])
	CFLAGS=$cloche_saved_cflags
])

dnl CLOCHE_FLAGS(VARIABLE, FLAGS): those of FLAGS that the compiler takes.
AC_DEFUN([CLOCHE_FLAGS], [
	AC_MSG_CHECKING([which flags go into $1])
	$1="m4_normalize([$2])"
	_CLOCHE_TRY([$$1], [AC_MSG_RESULT([all])], [
		cloche_all=$$1
		cloche_left_out=
		$1=
		for cloche_flag in $cloche_all; do
			_CLOCHE_TRY([$cloche_flag], [$1="$$1 $cloche_flag"], [cloche_left_out="$cloche_left_out $cloche_flag"])
		done
		AC_MSG_RESULT([all but$cloche_left_out])
	])
	AC_SUBST([$1])
])

dnl CLOCHE_START: how cloche and cloche-init, which a user waits for, are compiled and linked: with musl where it is there,
dnl since its programs start several times faster, else statically with the compiler's own C library (docs/decisions/0002).
dnl libcap is linked as the archive that the distribution ships; of the C library it uses what both have.
AC_DEFUN([CLOCHE_START], [
	AC_PATH_PROGS([MUSL_CC], [musl-gcc], [no])
	AC_ARG_WITH([musl], [AS_HELP_STRING([--without-musl], [link the start-up programs with the C library of the compiler])])
	START_LIBC="the C library of $CC"
	START_CC=$CC
	START_CPPFLAGS=
	START_LINK=-static-pie
	START_LINK_END=
	START_CAP=`$CC -print-file-name=libcap.a`
	AS_IF([test "$MUSL_CC" != no && test "$with_musl" != no], [_CLOCHE_START_MUSL])
	AC_MSG_CHECKING([which C library the start-up programs are linked with])
	AC_MSG_RESULT([$START_LIBC])
	AC_SUBST([START_CC])
	AC_SUBST([START_CPPFLAGS])
	AC_SUBST([START_LINK])
	AC_SUBST([START_LINK_END])
	AC_SUBST([START_CAP])
])

AC_DEFUN([_CLOCHE_START_MUSL], [
	echo 'int main(void) { return 0; }' > conftest.c
	cloche_crt=`$MUSL_CC '-###' -static conftest.c 2>&1 | tr ' ' '\n' | tr -d '"' | sed -n 's,/crti\.o$,,p'`
	cloche_cpp="-idirafter /usr/include -idirafter /usr/include/`$CC -print-multiarch 2>/dev/null`"
	cloche_link="-static -nostartfiles -Wl,-pie,--no-dynamic-linker,-z,text $cloche_crt/rcrt1.o $cloche_crt/crti.o"
	cat > conftest.c <<'END'
#include <linux/mount.h>
#include <sys/capability.h>
int main(void) { cap_t none = cap_init(); return none == 0; }
END
	AS_IF([$MUSL_CC $cloche_cpp -fPIE -o conftest $cloche_link conftest.c $START_CAP $cloche_crt/crtn.o >&AS_MESSAGE_LOG_FD 2>&1 &&
	       { test "$cross_compiling" = yes || ./conftest; }],
	      [START_LIBC=musl
	       START_CC=$MUSL_CC
	       START_CPPFLAGS=$cloche_cpp
	       START_LINK=$cloche_link
	       START_LINK_END=$cloche_crt/crtn.o])
	rm -f conftest conftest.c
])

dnl CLOCHE_STATIC_PIE(VARIABLES WITH LIBRARIES, DEBIAN-PACKAGES): stops unless a static-pie program can be linked with them.
AC_DEFUN([CLOCHE_STATIC_PIE], [
	AC_MSG_CHECKING([whether static-pie programs can be linked])
	cloche_saved_libs=$LIBS
	LIBS="m4_foreach_w([cloche_var], [$1], [$cloche_var ])$LIBS"
	_CLOCHE_TRY([-fPIE -static-pie], [AC_MSG_RESULT([yes])], [
		AC_MSG_RESULT([no])
		AC_MSG_ERROR([the static archives (lib*.a) of libc and libcap are needed. Debian: apt-get install $2])
	])
	LIBS=$cloche_saved_libs
])

dnl CLOCHE_EXPAND(VARIABLE, DIRECTORY): the directory with ${prefix} and ${exec_prefix} filled in.
AC_DEFUN([CLOCHE_EXPAND], [
	$1=`test "$prefix" = NONE && prefix=$ac_default_prefix
	test "$exec_prefix" = NONE && exec_prefix=$prefix
	cloche_now="$2"
	while :; do
		eval "cloche_next=\"$cloche_now\""
		test "$cloche_next" = "$cloche_now" && break
		cloche_now=$cloche_next
	done
	AS_ECHO(["$cloche_now"])`
])
