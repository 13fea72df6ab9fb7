// `npm start`: the built program, which serves unless a command is named: `npm start -- gateway --port 0`.
// Plain JavaScript, and in this same process, for the reasons that bin/parley.js has.
const [first] = process.argv.slice(2);
if (first === undefined || first.startsWith('-')) process.argv.splice(2, 0, 'serve');
await import('../bin/parley.js');
