// Ends with one line if this Node is too old for the scripts of the repository. Plain JavaScript, because an outdated Node
// must be able to run it.
import { readFileSync } from 'node:fs';

const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
const [major = 0, minor = 0] = engines.node.replace(/^\D+/, '').split('.').map(Number);
const [thisMajor = 0, thisMinor = 0] = process.version.slice(1).split('.').map(Number);
if (thisMajor < major || (thisMajor === major && thisMinor < minor)) {
  process.stderr.write(
    `parley needs Node ${major}.${minor} or newer and this is ${process.version}: ` +
      'run npm ci, which installs one on Linux, or install one from https://nodejs.org\n',
  );
  process.exit(2);
}
