; Windows' setup program, by NSIS 3 (makensis, also on Linux): for this user alone, no administrator. installers.py gives
; VERSION, BUNDLE, ICON, OUT, KILOBYTES, ADDRESS, PROBLEMS and DEVELOPERS. Removing Chickadee leaves the chats, which are in %LOCALAPPDATA%\chickadee.
Target amd64-unicode ; the program is for 64 bits too, and Wine without its 32-bit half can try it
SetCompressor /SOLID lzma
SetCompressorDictSize 64
Name "Chickadee"
OutFile "${OUT}"
InstallDir "$LOCALAPPDATA\Programs\Chickadee"
InstallDirRegKey HKCU "Software\Chickadee" "Folder"
RequestExecutionLevel user
ManifestDPIAware true
BrandingText "Chickadee ${VERSION}"
VIProductVersion "${VERSION}.0"
VIAddVersionKey "ProductName" "Chickadee"
VIAddVersionKey "FileDescription" "Chickadee setup"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "LegalCopyright" "MIT licence"

!include "MUI2.nsh"
!include "WinVer.nsh"
!include "x64.nsh"

!define ENTRY "Software\Microsoft\Windows\CurrentVersion\Uninstall\Chickadee"
!define CLASSES "Software\Classes"
!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_FINISHPAGE_RUN "$INSTDIR\chickadee.exe"
!insertmacro MUI_PAGE_LICENSE "${BUNDLE}\licences\Chickadee.txt"
!insertmacro MUI_PAGE_COMPONENTS
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "SimpChinese"

LangString PROGRAM ${LANG_ENGLISH} "Chickadee"
LangString PROGRAM ${LANG_SIMPCHINESE} "Chickadee"
LangString MODELS ${LANG_ENGLISH} "Open .gguf models with Chickadee"
LangString MODELS ${LANG_SIMPCHINESE} "用 Chickadee 打开 .gguf 模型"
LangString DESKTOP ${LANG_ENGLISH} "Icon on the desktop"
LangString DESKTOP ${LANG_SIMPCHINESE} "桌面图标"
LangString MODEL ${LANG_ENGLISH} "Language model"
LangString MODEL ${LANG_SIMPCHINESE} "语言模型"
LangString RUNS ${LANG_ENGLISH} "Chickadee is open. Close it, then try again."
LangString RUNS ${LANG_SIMPCHINESE} "Chickadee 正在运行。请先关闭它，然后重试。"
LangString TOO_OLD ${LANG_ENGLISH} "Chickadee needs 64-bit Windows 10 or newer."
LangString TOO_OLD ${LANG_SIMPCHINESE} "Chickadee 需要 64 位的 Windows 10 或更新版本。"

; Windows refuses to open a program for writing while it runs.
!macro WAIT_UNTIL_CLOSED PROGRAM_FILE
    ${Do}
        ClearErrors
        ${IfNot} ${FileExists} "$INSTDIR\${PROGRAM_FILE}"
            ${ExitDo}
        ${EndIf}
        FileOpen $0 "$INSTDIR\${PROGRAM_FILE}" a
        ${IfNot} ${Errors}
            FileClose $0
            ${ExitDo}
        ${EndIf}
        MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(RUNS)" /SD IDCANCEL IDRETRY +3
        SetErrorLevel 2
        Quit
    ${Loop}
!macroend

Function .onInit
    ${IfNot} ${RunningX64}
    ${OrIfNot} ${AtLeastWin10}
        MessageBox MB_ICONSTOP "$(TOO_OLD)" /SD IDOK
        SetErrorLevel 3
        Quit
    ${EndIf}
FunctionEnd

Section "$(PROGRAM)"
    SectionIn RO
    !insertmacro WAIT_UNTIL_CLOSED "chickadee.exe"
    !insertmacro WAIT_UNTIL_CLOSED "chickadee-engine.exe"
    ; What an older version had and this one has not must not be loaded. Only where Chickadee is: a user may choose any folder.
    ${If} ${FileExists} "$INSTDIR\chickadee.exe"
        RMDir /r "$INSTDIR\_internal"
        RMDir /r "$INSTDIR\licences"
    ${EndIf}
    SetOutPath "$INSTDIR"
    File /r "${BUNDLE}\*" ; Windows' makensis splits paths only at \, Linux' turns it round
    WriteUninstaller "$INSTDIR\uninstall.exe"
    CreateShortcut "$SMPROGRAMS\Chickadee.lnk" "$INSTDIR\chickadee.exe"
    WriteRegStr HKCU "Software\Chickadee" "Folder" "$INSTDIR"
    WriteRegStr HKCU "${ENTRY}" "DisplayName" "Chickadee"
    WriteRegStr HKCU "${ENTRY}" "DisplayVersion" "${VERSION}"
    WriteRegStr HKCU "${ENTRY}" "DisplayIcon" "$INSTDIR\chickadee.exe"
    WriteRegStr HKCU "${ENTRY}" "Publisher" "${DEVELOPERS}"
    WriteRegStr HKCU "${ENTRY}" "URLInfoAbout" "${ADDRESS}"
    WriteRegStr HKCU "${ENTRY}" "HelpLink" "${PROBLEMS}"
    WriteRegStr HKCU "${ENTRY}" "InstallLocation" "$INSTDIR"
    WriteRegStr HKCU "${ENTRY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
    WriteRegStr HKCU "${ENTRY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
    WriteRegDWORD HKCU "${ENTRY}" "EstimatedSize" ${KILOBYTES}
    WriteRegDWORD HKCU "${ENTRY}" "NoModify" 1
    WriteRegDWORD HKCU "${ENTRY}" "NoRepair" 1
SectionEnd

Section "$(MODELS)"
    WriteRegStr HKCU "${CLASSES}\.gguf\OpenWithProgids" "Chickadee.gguf" ""
    WriteRegStr HKCU "${CLASSES}\Chickadee.gguf" "" "$(MODEL)"
    WriteRegStr HKCU "${CLASSES}\Chickadee.gguf\DefaultIcon" "" "$INSTDIR\chickadee.exe,0"
    WriteRegStr HKCU "${CLASSES}\Chickadee.gguf\shell\open\command" "" '"$INSTDIR\chickadee.exe" "%1"'
    System::Call "shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)" ; SHCNE_ASSOCCHANGED
SectionEnd

Section /o "$(DESKTOP)"
    CreateShortcut "$DESKTOP\Chickadee.lnk" "$INSTDIR\chickadee.exe"
SectionEnd

Section "Uninstall"
    !insertmacro WAIT_UNTIL_CLOSED "chickadee.exe"
    !insertmacro WAIT_UNTIL_CLOSED "chickadee-engine.exe"
    ; Only what setup has put there, because a user may keep other files in the folder.
    RMDir /r "$INSTDIR\_internal"
    RMDir /r "$INSTDIR\licences"
    Delete "$INSTDIR\chickadee.exe"
    Delete "$INSTDIR\chickadee-engine.exe"
    Delete "$INSTDIR\uninstall.exe"
    RMDir "$INSTDIR"
    Delete "$SMPROGRAMS\Chickadee.lnk"
    Delete "$DESKTOP\Chickadee.lnk"
    DeleteRegValue HKCU "${CLASSES}\.gguf\OpenWithProgids" "Chickadee.gguf"
    DeleteRegKey HKCU "${CLASSES}\Chickadee.gguf"
    DeleteRegKey HKCU "${ENTRY}"
    DeleteRegKey HKCU "Software\Chickadee"
    System::Call "shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)"
SectionEnd
