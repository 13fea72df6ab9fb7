/**
 * The common part of sequences and loops.
 *
 * A checkpoint is stored after each agent that has finished, so that a resumed run continues with the first unfinished
 * agent.
 */
import type { JsonValue } from '../../base/index.ts';
import type { Agent, RunContext } from '../agent.ts';
import type { Event } from '../event.ts';
import { runScopeOf, type RunScope } from '../run/run-context.ts';
import { Waits } from '../run/run-index.ts';

/**
 * Runs the agents in order. In a loop, the number of the round is part of each agent's path. An escalation ends the
 * loop, but not the sequences around the loop.
 */
export async function* runSteps(
  context: RunContext,
  agents: readonly Agent[],
  loop?: { readonly rounds: number },
): AsyncGenerator<Event> {
  const scope = runScopeOf(context);
  const rounds = loop?.rounds ?? 1;
  let { round, step } = progressOf(scope.checkpoint());
  let escalated = scope.resumed && hasEscalated(scope, agents);
  while (!escalated && round <= rounds && agents.length > 0) {
    const agent = agents[step];
    if (!agent) {
      round++;
      step = 0;
      continue;
    }
    const waits = new Waits(scope.inner.index);
    for await (const event of scope.run(agent, loop ? { step: round } : {})) {
      waits.note(event);
      if (event.actions.escalate === true && !scope.inner.escalationsSettled.has(event)) {
        escalated = true;
        if (loop) scope.inner.escalationsSettled.add(event);
      }
      yield event;
    }
    if (waits.any) return;
    step++;
    const value = escalated ? { round: rounds + 1, step: 0 } : { round, step };
    yield scope.event({ actions: { checkpoint: { path: scope.path, value } } });
  }
}

function progressOf(noted: JsonValue | undefined): { round: number; step: number } {
  if (typeof noted === 'object' && noted !== null && 'round' in noted && 'step' in noted) {
    const { round, step } = noted;
    if (typeof round === 'number' && typeof step === 'number') return { round, step };
  }
  return { round: 1, step: 0 };
}

/**
 * Returns whether one of the agents, or of their sub-agents, has escalated since the last checkpoint of this sequence
 * or of an enclosing agent. The sub-agents of a loop do not count. There is such an escalation only if the process
 * ended before the next checkpoint was stored.
 */
function hasEscalated({ events, runId, path }: RunScope, agents: readonly Agent[]): boolean {
  const names = new Set<string>();
  const add = (agent: Agent): void => {
    names.add(agent.name);
    if (!isLoop(agent)) agent.subAgents.forEach(add);
  };
  agents.forEach(add);
  for (const event of events.toReversed()) {
    if (event.runId !== runId) continue;
    const noted = event.actions.checkpoint?.path;
    if (noted !== undefined && (noted === path || isAbove(noted, path))) return false;
    if (event.actions.escalate === true && names.has(event.author)) return true;
  }
  return false;
}

function isAbove(path: string, other: string): boolean {
  return other.startsWith(path) && /^[/#~]/.test(other.slice(path.length));
}

/** The agent that `loopAgent` returns. It ends when one of its sub-agents escalates. */
export interface LoopAgent extends Agent {
  readonly kind: 'loop';
}

function isLoop(agent: Agent): agent is LoopAgent {
  return 'kind' in agent && agent.kind === 'loop';
}
