/**
 * The benchmark. It compares our server, bare node:http and the official SDK in interleaved rounds, each in its own
 * process on the same Node. It uses the CPU time that the scheduler counted for all threads, because wall time varies
 * too much.
 *
 *   npm run bench               everything, in about five minutes
 *   npm run bench -- unary      one scenario (or several)
 *   npm run bench -- million    runs only on request
 */
import { broadcast, idle, neighbour, slowReader, start } from './holding.ts';
import { gateway } from './gateway.ts';
import { grpc } from './grpc.ts';
import { live } from './live.ts';
import { growth, list, sqlite, streams, unary } from './costs.ts';
import { machine, type Row } from './measure.ts';
import { million, postgres } from './postgres.ts';
import { sniff } from './sniff.ts';
import { takeovers } from './takeover.ts';
import { heading, line, save } from './report.ts';
import { cleanUp } from './subjects.ts';

const SCENARIOS: Readonly<Record<string, () => Promise<Row[]>>> = {
  unary,
  sniff,
  streams,
  grpc,
  growth,
  sqlite,
  postgres,
  list,
  idle,
  stall: slowReader,
  neighbour,
  broadcast,
  live,
  gateway,
  start,
  takeover: takeovers,
  million,
};
/** Scenarios that run only on request, because they take long. */
const ON_REQUEST = new Set(['million']);

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in SCENARIOS));
if (unknown.length > 0 || asked.includes('--help')) {
  console.error(`scenarios: ${Object.keys(SCENARIOS).join(', ')}\nexample: npm run bench -- unary`);
  process.exit(asked.includes('--help') ? 0 : 2);
}
const names =
  asked.length > 0 ? asked : Object.keys(SCENARIOS).filter((name) => !ON_REQUEST.has(name));
const begun = performance.now();
const rows: Row[] = [];
console.log(
  `Parley's benchmark: ${machine()}. CPU time per unit on the server, unless the unit says wall.\n`,
);
console.log(heading());
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void cleanUp().finally(() => process.exit(130)));
}
try {
  for (const [at, name] of names.entries()) {
    if (process.stderr.isTTY) process.stderr.write(`  … ${name} (${at + 1} of ${names.length})\r`);
    for (const row of await SCENARIOS[name]!()) {
      rows.push(row);
      console.log(line(row));
    }
  }
} finally {
  await cleanUp();
}
const seconds = Math.round((performance.now() - begun) / 1000);
const file = save(rows, seconds, asked.length === 0);
const missed = rows.filter(({ goal }) => goal && !(goal.reached <= goal.most));
console.log(`\n${seconds} s. Written to ${file.replace(`${process.cwd()}/`, '')}.`);
if (missed.length > 0) console.log(`Missed: ${missed.map(({ scenario }) => scenario).join('; ')}.`);
