; Windows' setup program, by Inno Setup 6: for this user alone, no administrator. Called by packaging/installers.py with
; Version and Bundle. Removing it leaves the chats, which are in %LOCALAPPDATA%\chickadee.
[Setup]
AppId={{8C1E7D52-6B7D-4F0B-9A51-0C7E35F5C4B1}
AppName=Chickadee
AppVersion={#Version}
VersionInfoVersion={#Version}
AppPublisher=The Chickadee developers
DefaultDirName={localappdata}\Programs\Chickadee
DefaultGroupName=Chickadee
DisableProgramGroupPage=yes
PrivilegesRequired=lowest
ArchitecturesAllowed=x64compatible
ArchitecturesInstallIn64BitMode=x64compatible
MinVersion=10.0.17763
OutputBaseFilename=Chickadee-{#Version}-setup
SetupIconFile={#Bundle}\..\..\resources\chickadee.ico
UninstallDisplayIcon={app}\chickadee.exe
LicenseFile={#Bundle}\licences\Chickadee.txt
Compression=lzma2/max
SolidCompression=yes
ChangesAssociations=yes
CloseApplications=yes

[Languages]
Name: "en"; MessagesFile: "compiler:Default.isl"

[Tasks]
Name: "desktopicon"; Description: "{cm:CreateDesktopIcon}"; Flags: unchecked
Name: "gguf"; Description: "Open .gguf models with Chickadee"

[InstallDelete]
; What an older version had and this one has not must not be loaded.
Type: filesandordirs; Name: "{app}\_internal"

[Files]
Source: "{#Bundle}\*"; DestDir: "{app}"; Flags: recursesubdirs ignoreversion

[Icons]
Name: "{group}\Chickadee"; Filename: "{app}\chickadee.exe"
Name: "{autodesktop}\Chickadee"; Filename: "{app}\chickadee.exe"; Tasks: desktopicon

[Registry]
Root: HKCU; Subkey: "Software\Classes\.gguf\OpenWithProgids"; ValueType: string; ValueName: "Chickadee.gguf"; ValueData: ""; Flags: uninsdeletevalue; Tasks: gguf
Root: HKCU; Subkey: "Software\Classes\Chickadee.gguf"; ValueType: string; ValueData: "Language model"; Flags: uninsdeletekey; Tasks: gguf
Root: HKCU; Subkey: "Software\Classes\Chickadee.gguf\shell\open\command"; ValueType: string; ValueData: """{app}\chickadee.exe"" ""%1"""; Tasks: gguf

[Run]
Filename: "{app}\chickadee.exe"; Description: "{cm:LaunchProgram,Chickadee}"; Flags: nowait postinstall skipifsilent
