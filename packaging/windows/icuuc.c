// Windows 10's icuuc.dll, which Wine 8 lacks: Qt loads it, and goes on without its converters where none opens.
#define EXPORT __declspec(dllexport)
#define NOTHING(name) EXPORT void name(void) {}
#define ZERO(name) EXPORT void *name(void) { return 0; }
NOTHING(UCNV_FROM_U_CALLBACK_SUBSTITUTE) NOTHING(UCNV_TO_U_CALLBACK_SUBSTITUTE) NOTHING(ucnv_cbFromUWriteUChars)
NOTHING(ucnv_cbToUWriteUChars) NOTHING(ucnv_close) NOTHING(ucnv_fromUnicode) NOTHING(ucnv_toUnicode)
NOTHING(ucnv_getFromUCallBack) NOTHING(ucnv_getToUCallBack) NOTHING(ucnv_reset) NOTHING(ucnv_setFromUCallBack)
NOTHING(ucnv_setToUCallBack) ZERO(ucnv_countAvailable) ZERO(ucnv_fromUCountPending) ZERO(ucnv_toUCountPending)
ZERO(ucnv_getAvailableName) ZERO(ucnv_getMaxCharSize) ZERO(ucnv_getName) ZERO(ucnv_getStandardName)
enum { U_FILE_ACCESS_ERROR = 4 };
EXPORT void *ucnv_open(const char *name, int *error) {
    if (error) *error = U_FILE_ACCESS_ERROR;
    return 0;
}
