/**
 * Puts load from real clients on three nodes, while nodes are killed and paused, the database is restarted, connections
 * are cut and hints are lost. Then everything recovers, and checkers compare what clients and the provider were told with
 * what is stored.
 *
 *   npm run test:faults -- --seed 7 --seconds 60
 */
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  checkBudgets,
  checkProbe,
  emptyBudgetHistory,
  type Probe,
  PROMPT_ROOM,
} from './budget-checker.ts';
import { check, emptyHistory } from './checker.ts';
import { client, startReceiver, startTask } from './clients.ts';
import { startFaultCluster } from './cluster.ts';
import {
  ASKING,
  BudgetRing,
  type BudgetHolder,
  gatewayClient,
  isRefused,
  isUnavailable,
  newCall,
  secretOf,
} from './gateway-clients.ts';
import { createBudgetKeys } from './keys.ts';
import { BEHIND } from './names.ts';
import { agentAct, ownClient, sdkClient, SDKS, sent, streamed } from './sdk-clients.ts';
import { storedBudgets, storedTasks, unfinished, unsettled } from './stored.ts';
import { startVendor } from './vendor.ts';

/** From this length on, a node has the default lease, and is paused for longer than that. */
const LONG_SECONDS = 45;
/** How long to wait until all tasks are settled and all webhooks delivered. */
const RECOVER_MS = 45_000;
/** How long to wait until the reservations of dead nodes are released. */
const RELEASE_MS = 20_000;
/** Number of keys with a small budget. The vendors' clients use them in two groups, and the workspaces with a budget. */
const KEYS = 30;
/** The budget of the key for tasks. It is not used up. */
const LARGE_BUDGET = 1_000_000;
const CALLERS = Object.keys(ASKING).length;

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, seconds: { type: 'string', default: '60' } },
});
const seed = Number(values.seed);
const seconds = Number(values.seconds);
const random = generator(seed);
const history = emptyHistory();
const gatewayHistory = emptyHistory();
const budgets = emptyBudgetHistory();
// The cluster ends its processes and removes its files when this process exits.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(name, () => process.exit(130));

const vendor = await startVendor(budgets.calls);
const cluster = await startFaultCluster({
  random,
  history: budgets,
  vendor: vendor.url,
  hasLongLease: seconds >= LONG_SECONDS,
});
const keys = await createBudgetKeys(cluster.gatewayDatabase, KEYS, LARGE_BUDGET);
const holders = [...keys.small, keys.large];
const receiver = await startReceiver(history, random);
const load = new AbortController();
const { addresses, nodes, pools } = cluster;
const options = { base: addresses.agent, history, random, signal: load.signal, hook: receiver.url };
const clients = [...ofAgent(), ...ofGateway()];

const begun = performance.now();
const until = begun + seconds * 1000;
const longPause = seconds >= LONG_SECONDS ? pauseFor(begun + (seconds / 4) * 1000) : undefined;
while (performance.now() < until) {
  await setTimeout(300 + random() * 1500);
  await cluster.fault();
}
await longPause;
for (const node of nodes) cluster.resume(node);
await setTimeout(500);
load.abort();
await Promise.all(clients);
const settled = performance.now();
await recovered();
const settleMs = performance.now() - settled;
await probeBudgets();
const releaseMs = performance.now() - settled - settleMs;

const tasks = await storedTasks(pools.agent, true);
const gatewayTasks = await storedTasks(pools.gateway, false);
const broken = [
  ...cluster.crashes,
  ...check(history, tasks),
  ...check(gatewayHistory, gatewayTasks).map((line) => `gateway: ${line}`),
  ...checkBudgets(budgets, await storedBudgets(pools.gateway, holders), CALLERS),
];
report();
for (const line of broken) console.log(`  ${line}`);
if (broken.length > 0) {
  for (const pool of [pools.agent, pools.gateway])
    console.log(JSON.stringify(await unfinished(pool), undefined, 2));
}
console.log(broken.length === 0 ? 'no violation' : `${broken.length} violations`);
await cluster.close();
receiver.close();
vendor.close();
process.exit(broken.length === 0 ? 0 : 1);

function ofAgent(): Promise<void>[] {
  return [
    ...(['0.3', '1.0', '0.3', '1.0'] as const).map((version) => client(version, options)),
    ...SDKS.map((peer) => sdkClient(peer, options, agentAct(options))),
    ownClient(options),
  ];
}

/** Two groups of vendors' clients, and A2A clients of the gateway's model and of the agent behind the gateway. */
function ofGateway(): Promise<void>[] {
  const base = addresses.gateway;
  const { signal } = load;
  const half = Math.ceil(keys.small.length / 2);
  const groups = [keys.small.slice(0, half), keys.small.slice(half)];
  const vendors = groups.flatMap((group) => {
    const ring = new BudgetRing(group);
    return Object.values(ASKING).map((ask) =>
      gatewayClient(ask, ring, { base, history: budgets, random, signal }),
    );
  });
  const [one, other] = [SDKS[0]!, SDKS[1]!];
  const toModel = { base, history: gatewayHistory, random, signal };
  const ofModel = sdkClient(
    one,
    toModel,
    async (peer) => {
      const tokens = 20 + Math.floor(random() * 400);
      const { prompt } = newCall(budgets, keys.large.name, tokens, random() * 600);
      await streamed(peer, gatewayHistory, { text: prompt });
    },
    secretOf(keys.large, random),
  );
  const toAgent = { ...toModel, base: `${base}agents/${BEHIND}/` };
  const ofAgentBehind = sdkClient(
    other,
    toAgent,
    async (peer) => {
      const text = `steps ${2 + Math.floor(random() * 10)} 30`;
      if (random() < 0.5) await streamed(peer, gatewayHistory, { text });
      else await sent(peer, gatewayHistory, { text });
    },
    keys.unlimited,
  );
  return [...vendors, ofModel, ofAgentBehind];
}

/** Pauses the first node for longer than its lease, with tasks that it executes. */
async function pauseFor(at: number): Promise<void> {
  const node = nodes[0]!;
  await setTimeout(at - performance.now());
  const base = `http://127.0.0.1:${node.ports.agent}/`;
  const begin = () => startTask({ ...options, base }, 'steps 100 150').catch(() => undefined);
  const begun = await Promise.all([begin(), begin(), begin()]);
  cluster.pause(node);
  history.paused.push(...begun.filter((taskId) => taskId !== undefined));
  await setTimeout(cluster.leaseOf(node) + 1500 + random() * 1000);
  cluster.resume(node);
}

/** Waits until all tasks are settled and all webhooks have got their events. */
async function recovered(): Promise<void> {
  const deadline = performance.now() + RECOVER_MS;
  while (performance.now() < deadline) {
    if ((await unsettled(pools.agent)) + (await unsettled(pools.gateway)) === 0) return;
    await setTimeout(200);
  }
}

/** Makes a call with each budget, for all tokens that are left. Tries again until the calls of dead nodes are counted. */
async function probeBudgets(): Promise<void> {
  const deadline = performance.now() + RELEASE_MS;
  const used = new Set(budgets.holders.values());
  for (const holder of holders.filter(({ name }) => used.has(name))) {
    for (;;) {
      const isLast = performance.now() >= deadline;
      const probe = await probeBudget(holder, isLast);
      if (probe && (isLast || checkProbe(budgets, probe).length === 0)) {
        budgets.probes.push(probe);
        break;
      }
      await setTimeout(250);
    }
  }
  while (performance.now() < deadline) {
    const stored = await storedBudgets(pools.gateway, holders);
    if (stored.every(({ reserved }) => reserved === 0)) return;
    await setTimeout(250);
  }
}

/** Returns undefined if a node has not reached the database again. Throws if this is the last attempt. */
async function probeBudget(holder: BudgetHolder, isLast: boolean): Promise<Probe | undefined> {
  const [stored] = await storedBudgets(pools.gateway, [holder]);
  const rest = holder.tokens - (stored?.spent ?? 0);
  const limit = Math.max(16, rest - PROMPT_ROOM);
  const { id, prompt } = newCall(budgets, holder.name, Math.min(limit, 100), 0);
  const probe = { holder: holder.name, id, rest, limit };
  try {
    await ASKING.chat(addresses.gateway, secretOf(holder, random), prompt, limit);
    return { ...probe, isGranted: true };
  } catch (error) {
    if (isUnavailable(error) && !isLast) return undefined;
    if (!isRefused(error)) throw error;
    return { ...probe, isGranted: false };
  }
}

function report(): void {
  const { acknowledged, streams, unnumbered, deliveries } = history;
  const probed = new Set(budgets.probes.map(({ holder }) => holder));
  const used = keys.small.filter(({ name }) => probed.has(name));
  const ofMoney = used.filter(({ isMoney }) => isMoney).length;
  const ofTeams = used.filter(({ keyIds }) => keyIds.length > 1).length;
  console.log(
    `seed ${seed}: ${tasks.length} tasks, ${acknowledged.length} messages, ${streams.length + unnumbered.length} streams, ` +
      `${deliveries.length} deliveries; gateway: ${gatewayTasks.length} tasks, ${budgets.calls.length} model calls, ` +
      `${budgets.probes.length} budgets (${ofMoney} in money, ${ofTeams} of workspaces); settled after ${Math.round(settleMs)} ms, budgets after ${Math.round(releaseMs)} ms; ` +
      `${cluster.lostHints} hints lost; faults: ${JSON.stringify(cluster.faults)}`,
  );
}

/** Returns a generator of numbers from 0 to 1 (mulberry32), so that a seed repeats a run as far as timing allows. */
function generator(from: number): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
