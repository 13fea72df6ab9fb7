/** /stats: shows the usage of this session. */
import { functionResponses, type Event } from '../../agent/index.ts';
import { SessionCost, type Tally } from '../session/usage.ts';
import type { WorkspaceAgent } from '../session/workspace-agent.ts';
import type { CoderCommand } from './command.ts';

export const statsCommand: CoderCommand = {
  name: 'stats',
  description: 'Shows the usage of this session: tokens, cost, tool calls, time.',
  async *run(_args, { agent, run }) {
    const spending = new SessionCost(run.events, (key) => run.state.get(key), agent.priceOf);
    yield [
      activityOf(run.events),
      ...tokensOf(spending),
      costOf(spending),
      ...limitsOf(agent.limits),
    ].join('\n');
  },
};

function activityOf(events: readonly Event[]): string {
  const asides = new Set(events.filter(({ aside }) => aside === true).map(({ runId }) => runId));
  const own = events.filter(({ runId }) => !asides.has(runId));
  const turns = new Set(own.map(({ runId }) => runId)).size;
  const responses = own.flatMap(({ content }) => functionResponses(content));
  const failed = responses.filter(({ isError }) => isError === true).length;
  const spent = (own.at(-1)?.timestamp ?? 0) - (own[0]?.timestamp ?? 0);
  const calls = counted(responses.length, 'tool call');
  return `${counted(turns, 'turn')}, ${calls} (${failed} failed), in ${durationOf(spent)}`;
}

function tokensOf({ byModel }: SessionCost): string[] {
  if (byModel.size === 0) return ['No model has been called yet.'];
  return [...byModel].map(([model, tally]) => `${model}: ${tallyText(tally)}`);
}

function tallyText({ requests, inputTokens, outputTokens, cachedTokens }: Tally): string {
  const input = counted(inputTokens, 'token');
  return `${counted(requests, 'request')}, ${input} in (${cachedTokens} cached), ${outputTokens} out`;
}

function costOf(spending: SessionCost): string {
  const { usd, unknown } = spending.cost;
  if (unknown.length === 0) return `Cost: $${usd.toFixed(4)}`;
  const known = usd > 0 ? `at least $${usd.toFixed(4)}` : 'unknown';
  return `Cost: ${known} (unknown prices: ${unknown.join(', ')})`;
}

function limitsOf({ maxTokens, maxCostUsd }: WorkspaceAgent['limits'] = {}): string[] {
  return [
    ...(maxTokens === undefined ? [] : [`Limit: ${counted(maxTokens, 'token')}`]),
    ...(maxCostUsd === undefined
      ? []
      : [`Limit: $${maxCostUsd} (models with an unknown price do not count)`]),
  ];
}

/** Returns a number with its noun, for example "1 turn" or "2 turns". */
function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function durationOf(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const units = ['h', 'min', 's'];
  const shown = parts
    .map((value, at) => `${value} ${units[at]}`)
    .filter((_, at) => at === 2 || parts.slice(0, at + 1).some((value) => value > 0));
  return shown.join(' ');
}
