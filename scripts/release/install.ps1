# Installs Reasonix for this user on Windows, without administrator rights (Windows PowerShell 5.1 or PowerShell 7):
#
#   irm ADDRESS/install.ps1 | iex
#   & ([scriptblock]::Create((irm ADDRESS/install.ps1))) -Uninstall
#
# $env:REASONIX_VERSION    version to install; default: the latest
# $env:REASONIX_BASE_URL   mirror of the releases: /latest holds a version, /vVERSION/ the files of that release
#
# The program is in %LOCALAPPDATA%\reasonix, and its directory bin is added to the PATH of the user. No downloaded
# file is executed before its checksum and the signature over the checksums are verified with the key below.
# The last line starts it all, so that an incomplete copy of this script does nothing.
param([switch] $Uninstall)

function Invoke-ReasonixInstaller([bool] $Remove) {
  $ErrorActionPreference = 'Stop'
  # Its bar makes downloads ten times slower in Windows PowerShell.
  $ProgressPreference = 'SilentlyContinue'
  Set-StrictMode -Version 2
  $repository = '@unset-repository'
  $publicKey = '@unset-public-key'
  $root = Join-Path $env:LOCALAPPDATA 'reasonix'
  $versions = Join-Path $root 'versions'
  $bin = Join-Path $root 'bin'
  $command = Join-Path $bin 'reasonix.cmd'
  $versionForm = '^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$'

  function Get-File([string] $address, [string] $path) {
    try {
      Invoke-WebRequest -UseBasicParsing -Uri $address -OutFile $path
    } catch {
      throw "Cannot fetch ${address}: $($_.Exception.Message). Check the network and the address; nothing was installed"
    }
  }

  function Get-Sha256([string] $path) {
    (Get-FileHash -Algorithm SHA256 -LiteralPath $path).Hash.ToLowerInvariant()
  }

  function Get-UserPath {
    # The registry has the text with its variables, which the environment has no more.
    $key = [Microsoft.Win32.Registry]::CurrentUser.OpenSubKey('Environment', $true)
    $text = [string] $key.GetValue('Path', '', 'DoNotExpandEnvironmentNames')
    return @{ Key = $key; Parts = @($text -split ';' | Where-Object { $_ -ne '' }) }
  }

  function Set-UserPath($userPath, [string[]] $parts) {
    $userPath.Key.SetValue('Path', ($parts -join ';'), 'ExpandString')
    # Setting any variable this way notifies running programs.
    [Environment]::SetEnvironmentVariable('REASONIX_PATH_CHANGED', $null, 'User')
  }

  function Get-Target {
    $machine = [string] [System.Runtime.InteropServices.RuntimeInformation]::OSArchitecture
    switch ($machine) {
      'X64' { return 'x86_64-pc-windows-msvc' }
      'Arm64' { return 'aarch64-pc-windows-msvc' }
    }
    throw "Cannot install on the processor ${machine}: the runtime exists for 64-bit x86 and ARM only"
  }

  function Get-Base {
    if ($env:REASONIX_BASE_URL) { return $env:REASONIX_BASE_URL.TrimEnd('/') }
    if ($repository.StartsWith('@unset')) {
      throw 'Cannot determine where the releases are: this copy names no repository; set REASONIX_BASE_URL'
    }
    return "https://github.com/$repository/releases"
  }

  function Get-LatestVersion([string] $base, [string] $scratch) {
    $file = Join-Path $scratch 'latest'
    try {
      $answer = Invoke-WebRequest -UseBasicParsing -Uri "$base/latest" -OutFile $file -PassThru
    } catch {
      throw "Cannot fetch $base/latest: $($_.Exception.Message). Check the network, or set REASONIX_VERSION"
    }
    # The answer is a text with the version or, from GitHub, a redirect to the page of its tag.
    $response = $answer.BaseResponse
    $uri = if ($response -is [System.Net.WebResponse]) { $response.ResponseUri } else { $response.RequestMessage.RequestUri }
    if ($uri.AbsoluteUri -match '/tag/v([^/?#]+)$') { $found = $Matches[1] }
    else { $found = [string] (Get-Content -LiteralPath $file -TotalCount 1) }
    $found = $found.Trim()
    if ($found -cnotmatch $versionForm) {
      throw "Cannot determine the latest version: $base/latest names none; set REASONIX_VERSION"
    }
    return $found
  }

  # Verifies SHA256SUMS, and that it was signed for this very version: old signatures are valid for ever.
  function Test-Signature([string] $scratch, [string] $version) {
    if ($publicKey.StartsWith('@unset')) {
      throw 'Cannot verify the release: this copy of the script has no public key; use the one of a release'
    }
    $sums = Join-Path $scratch 'SHA256SUMS'
    $lines = @([System.IO.File]::ReadAllLines("$sums.minisig"))
    $wrong = 'Cannot trust SHA256SUMS: its signature is missing or wrong. Nothing was installed; try again later'
    if ($lines.Count -ne 4 -or -not $lines[2].StartsWith('trusted comment: ')) { throw $wrong }
    $minisign = Get-Command 'minisign.exe' -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
    $openssl = Get-OpenSsl
    # What a program writes to its standard error is no error of PowerShell here.
    $ErrorActionPreference = 'Continue'
    if ($minisign) {
      & $minisign.Source -Vq -P $publicKey -m $sums -x "$sums.minisig" *> $null
      if ($LASTEXITCODE -ne 0) { throw $wrong }
    } elseif ($openssl) {
      if (-not (Test-WithOpenSsl $openssl $scratch $lines)) { throw $wrong }
    } else {
      throw 'Cannot verify the signature of the release; install minisign or OpenSSL 3 (winget install --id Git.Git has it)'
    }
    if ($lines[2] -cne "trusted comment: reasonix $version") {
      throw "Cannot trust SHA256SUMS: its signature is one for '$($lines[2])', not for 'reasonix $version'"
    }
  }

  # An OpenSSL that knows Ed25519 and BLAKE2b; Git for Windows brings one.
  function Get-OpenSsl {
    $found = @(Get-Command 'openssl.exe' -CommandType Application -ErrorAction SilentlyContinue | ForEach-Object { $_.Source })
    $git = Join-Path $env:ProgramFiles 'Git'
    $found += Join-Path $git 'mingw64\bin\openssl.exe'
    $found += Join-Path $git 'usr\bin\openssl.exe'
    $ErrorActionPreference = 'Continue'
    foreach ($path in $found) {
      if (-not (Test-Path -LiteralPath $path)) { continue }
      $version = [string] (& $path version 2> $null)
      if ($version -match '^OpenSSL [3-9]') { return $path }
    }
    return $null
  }

  # A signature of minisign: a line of 2 bytes of algorithm, 8 of key, 64 of Ed25519 over the BLAKE2b-512 of the
  # file; after the trusted comment a line of 64 bytes over the first signature and the comment.
  function Test-WithOpenSsl([string] $openssl, [string] $scratch, [string[]] $lines) {
    try {
      [byte[]] $key = [Convert]::FromBase64String($publicKey)
      [byte[]] $signature = [Convert]::FromBase64String($lines[1])
      [byte[]] $global = [Convert]::FromBase64String($lines[3])
    } catch {
      return $false
    }
    if ($key.Length -ne 42 -or $signature.Length -ne 74 -or $global.Length -ne 64) { return $false }
    # "ED", and the id of the key.
    if ($signature[0] -ne 0x45 -or $signature[1] -ne 0x44) { return $false }
    if (($signature[2..9] -join ',') -ne ($key[2..9] -join ',')) { return $false }
    [byte[]] $head = 0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00
    $file = @{}
    foreach ($name in 'key', 'digest', 'signature', 'commented', 'global') { $file[$name] = Join-Path $scratch $name }
    [System.IO.File]::WriteAllBytes($file.key, [byte[]] ($head + $key[10..41]))
    [System.IO.File]::WriteAllBytes($file.signature, [byte[]] $signature[10..73])
    [System.IO.File]::WriteAllBytes($file.global, $global)
    $comment = [System.Text.Encoding]::UTF8.GetBytes($lines[2].Substring('trusted comment: '.Length))
    [System.IO.File]::WriteAllBytes($file.commented, [byte[]] ($signature[10..73] + $comment))
    $sums = Join-Path $scratch 'SHA256SUMS'
    $words = 'dgst', '-blake2b512', '-binary', '-out', $file.digest, $sums
    & $openssl @words *> $null
    if ($LASTEXITCODE -ne 0) { return $false }
    foreach ($pair in @(@('digest', 'signature'), @('commented', 'global'))) {
      $words = 'pkeyutl', '-verify', '-pubin', '-keyform', 'DER', '-inkey', $file.key, '-rawin', '-in', $file[$pair[0]]
      & $openssl @words -sigfile $file[$pair[1]] *> $null
      if ($LASTEXITCODE -ne 0) { return $false }
    }
    return $true
  }

  # The order of versions (SemVer 2).
  function Test-Older([string] $a, [string] $b) {
    $coreA, $nameA = $a -split '-', 2
    $coreB, $nameB = $b -split '-', 2
    if ([version] $coreA -ne [version] $coreB) { return [version] $coreA -lt [version] $coreB }
    if (-not $nameA -or -not $nameB) { return [bool] $nameA -and -not $nameB }
    $x = @($nameA -split '\.')
    $y = @($nameB -split '\.')
    for ($at = 0; $at -lt [Math]::Max($x.Count, $y.Count); $at++) {
      if ($at -ge $x.Count) { return $true }
      if ($at -ge $y.Count) { return $false }
      if ($x[$at] -ceq $y[$at]) { continue }
      $numberX = $x[$at] -match '^[0-9]+$'
      $numberY = $y[$at] -match '^[0-9]+$'
      if ($numberX -and $numberY) { return [long] $x[$at] -lt [long] $y[$at] }
      if ($numberX -or $numberY) { return $numberX }
      return [string]::CompareOrdinal($x[$at], $y[$at]) -lt 0
    }
    return $false
  }

  # A command of that name belongs to this program if its first line says so.
  function Test-OwnCommand {
    if (-not (Test-Path -LiteralPath $command)) { return }
    $first = [string] (Get-Content -LiteralPath $command -TotalCount 1)
    if ($first -notlike '*Written by reasonix install*') {
      throw "Cannot replace ${command}: it belongs to another program; remove or rename it"
    }
  }

  if ($Remove) {
    if (-not (Test-Path -LiteralPath $root)) { throw "Cannot find ${root}: nothing is installed there" }
    Test-OwnCommand
    try {
      Remove-Item -LiteralPath $root -Recurse -Force
    } catch {
      throw "Cannot remove ${root}: $($_.Exception.Message). Close reasonix, and try again"
    }
    $userPath = Get-UserPath
    if ($userPath.Parts -contains $bin) { Set-UserPath $userPath @($userPath.Parts | Where-Object { $_ -ne $bin }) }
    Write-Host "Removed $root"
    $data = if ($env:REASONIX_HOME) { $env:REASONIX_HOME } else { Join-Path $env:USERPROFILE '.reasonix' }
    if (Test-Path -LiteralPath $data) {
      Write-Host "Configuration, keys and sessions remain in $data. To remove them too: Remove-Item -Recurse '$data'"
    }
    return
  }

  if ([Environment]::OSVersion.Platform -ne 'Win32NT') { throw 'Cannot install with this script here: use install.sh' }
  [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
  $target = Get-Target
  $base = Get-Base
  Test-OwnCommand
  $scratch = Join-Path ([System.IO.Path]::GetTempPath()) ('reasonix.' + [System.IO.Path]::GetRandomFileName())
  $staged = $null
  try {
    $null = New-Item -ItemType Directory -Path $scratch
    $wanted = [string] $env:REASONIX_VERSION
    $version = if ($wanted) { $wanted -replace '^v', '' } else { Get-LatestVersion $base $scratch }
    if ($version -cnotmatch $versionForm) { throw "Cannot install the version '$version'; give one of the form 1.2.3" }
    $directory = if ($base.StartsWith('https://github.com/')) { "$base/download/v$version" } else { "$base/v$version" }
    foreach ($name in 'SHA256SUMS', 'SHA256SUMS.minisig') { Get-File "$directory/$name" (Join-Path $scratch $name) }
    Test-Signature $scratch $version
    if (-not $wanted -and (Test-Path -LiteralPath $command)) {
      $text = [System.IO.File]::ReadAllText($command)
      if ($text -match '[\\/]versions[\\/]([0-9][^\\/+]*)\+' -and (Test-Older $version $Matches[1])) {
        throw "Cannot install ${version}: $($Matches[1]), which is newer, is installed; to go back, set REASONIX_VERSION=$version"
      }
    }
    $file = "reasonix-$target.exe"
    $sums = Join-Path $scratch 'SHA256SUMS'
    $line = @([System.IO.File]::ReadAllLines($sums) | Where-Object { $_ -clike "*  $file" })
    if ($line.Count -ne 1 -or $line[0].Length -ne 66 + $file.Length) {
      throw "Cannot find $file in $directory/SHA256SUMS; choose another REASONIX_VERSION"
    }
    $digest = $line[0].Substring(0, 64)
    $place = Join-Path $versions "$version+$((Get-Sha256 $sums).Substring(0, 8))"
    $program = Join-Path $place 'reasonix.exe'
    if (-not (Test-Path -LiteralPath $program) -or (Get-Sha256 $program) -cne $digest) {
      $staged = Join-Path $versions ('.new-' + [System.IO.Path]::GetRandomFileName())
      $null = New-Item -ItemType Directory -Force -Path $staged
      Write-Host "Downloading $file $version"
      $download = Join-Path $staged 'reasonix.exe'
      Get-File "$directory/$file" $download
      if ((Get-Sha256 $download) -cne $digest) {
        throw "Cannot use $directory/${file}: its SHA-256 is not the one of the release. Nothing was installed; try again"
      }
      $marker = @{ channel = 'script' }
      if ($env:REASONIX_BASE_URL) { $marker.from = $base }
      [System.IO.File]::WriteAllText((Join-Path $staged 'channel.json'), (ConvertTo-Json $marker -Compress) + "`n")
      if (Test-Path -LiteralPath $place) { Remove-Item -LiteralPath $place -Recurse -Force }
      Move-Item -LiteralPath $staged -Destination $place
      $staged = $place
    }
    # The program writes its command: that also shows that it starts here.
    if (($env:Path -split ';') -notcontains $bin) { $env:Path = "$bin;$env:Path" }
    $ErrorActionPreference = 'Continue'
    & $program install
    if ($LASTEXITCODE -ne 0) { throw "The program $file cannot be installed here: see above. Nothing was changed" }
    $ErrorActionPreference = 'Stop'
    $staged = $null
    $userPath = Get-UserPath
    if ($userPath.Parts -notcontains $bin) {
      Set-UserPath $userPath (@($bin) + $userPath.Parts)
      Write-Host "Added $bin to the PATH of this user; terminals that are open need it in theirs"
    }
  } finally {
    foreach ($left in $scratch, $staged) {
      if ($left -and (Test-Path -LiteralPath $left)) { Remove-Item -LiteralPath $left -Recurse -Force -ErrorAction SilentlyContinue }
    }
  }
}

function Start-ReasonixInstaller([bool] $Remove, [bool] $IsFile) {
  try {
    Invoke-ReasonixInstaller $Remove
  } catch {
    [Console]::Error.WriteLine("error: $($_.Exception.Message)")
    $global:LASTEXITCODE = 1
    # `exit` would close the window of a user who pipes the script into iex.
    if ($IsFile) { exit 1 }
  }
}

if ($true) { Start-ReasonixInstaller $Uninstall.IsPresent ([bool] $PSCommandPath) }
