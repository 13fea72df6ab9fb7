// `npm start` runs the built program. The default command is `serve`. Other commands: `npm start -- gateway --port 0`.
// This file is plain JavaScript and starts no second process, for the reasons given in bin/parley.js.
const [first] = process.argv.slice(2);
if (first === undefined || first.startsWith('-')) process.argv.splice(2, 0, 'serve');
await import('../bin/parley.js');
