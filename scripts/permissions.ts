/**
 * The way the program is run everywhere: bundle, compiled programs, tasks and the install line of the README.
 * It needs files, programs, network and environment, since that is what an agent works with, but neither
 * native code nor remote modules.
 */
export const PERMISSION_FLAGS = ["-A", "--deny-ffi", "--deny-import"];
