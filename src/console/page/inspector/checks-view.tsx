/** The results of the checks, with an explanation of each problem and of its fix, and the signatures of the card. */
import {
  type AgentCheck,
  EXPLANATIONS,
  type SignatureResult,
} from '../../../client/checks/index.ts';
import { cleanLine } from '../../../display/index.ts';
import { ProblemLine, useAction } from '../parts/loading.tsx';
import { WideTable } from '../parts/lists.tsx';
import { canVerify, type Inspection } from './inspection.ts';
import { PageButton } from '../parts/controls.tsx';

const SIGNS = {
  ok: ['✓', 'OK', 'good'],
  warning: ['!', 'Warning', 'warning'],
  broken: ['✗', 'Problem', 'bad'],
} as const;

interface Inspected {
  readonly inspection: Inspection;
}

export function ChecksView({ inspection }: Inspected) {
  const checks = inspection.checks.value;
  return (
    <>
      <p role="status">{summaryOf(checks, inspection.busy.value)}</p>
      <ul class="checks">
        {checks.map((check, at) => (
          <CheckRow key={at} check={check} inspection={inspection} />
        ))}
      </ul>
      <Signatures inspection={inspection} />
    </>
  );
}

function summaryOf(checks: readonly AgentCheck[], busy: boolean): string {
  if (busy) return 'The checks are running. No task is started.';
  const count = (status: AgentCheck['status'], one: string) => {
    const found = checks.filter((check) => check.status === status).length;
    return found === 0 ? [] : [`${found} ${one}${found === 1 ? '' : 's'}`];
  };
  const found = [...count('broken', 'problem'), ...count('warning', 'warning')];
  return found.length === 0 ? 'Everything is OK.' : `${found.join(', ')}.`;
}

function CheckRow({ check, inspection }: Inspected & { readonly check: AgentCheck }) {
  const [sign, word, tone] = SIGNS[check.status];
  const why = check.problem === undefined ? undefined : EXPLANATIONS[check.problem];
  return (
    <li class={`check-row s-${check.status}`}>
      <span class={`sign t-${tone}`} aria-hidden="true">
        {sign}
      </span>
      <div>
        <p class="check-line">
          <strong>{cleanLine(check.name)}</strong> <span class="hidden">{word}:</span>{' '}
          <span class="said-by-agent">{cleanLine(check.message)}</span>
        </p>
        {why === undefined ? null : (
          <dl class="why">
            <dt>What it means</dt>
            <dd>{why.meaning}</dd>
            <dt>How to fix it</dt>
            <dd>{why.fix}</dd>
          </dl>
        )}
        {check.problem === 'other-origin' && check.origin !== undefined ? (
          <Agreement inspection={inspection} origin={check.origin} />
        ) : null}
      </div>
    </li>
  );
}

/** Asks the person whether requests may go to another origin that the card names. */
function Agreement({ inspection, origin }: Inspected & { readonly origin: string }) {
  const { problem, run } = useAction();
  const { agree } = inspection.access;
  if (!agree) {
    return (
      <p class="dim">
        This page sends requests only to its own server. To check this interface, run{' '}
        <code>parley inspect</code> on your machine.
      </p>
    );
  }
  return (
    <>
      <PageButton onClick={() => run(() => agree(origin).then(() => void inspection.inspect()))}>
        Allow requests to {cleanLine(origin)}
      </PageButton>
      {problem === undefined ? null : <ProblemLine error={problem} />}
    </>
  );
}

const OUTCOMES = {
  valid: ['✓ valid', 'good'],
  unsigned: ['· none', 'dim'],
  untrusted: ['! key not trusted', 'warning'],
  unavailable: ['✗ keys unavailable', 'bad'],
  invalid: ['✗ not valid', 'bad'],
} as const satisfies Record<SignatureResult['outcome'], readonly [string, string]>;

function Signatures({ inspection }: Inspected) {
  const results = inspection.signatures.value;
  if (!canVerify()) {
    return (
      <p class="dim">
        Signatures were not verified: browsers can do so only on https pages and on this machine.
      </p>
    );
  }
  if (results.length === 0) return null;
  return (
    <>
      <h2>Signatures</h2>
      <WideTable label="Signatures" columns={['Result', 'Algorithm', 'Key', 'Signed by']}>
        {results.map(({ outcome, alg, kid, jku, keysAt, message }, at) => {
          const [words, tone] = OUTCOMES[outcome];
          return (
            <tr key={at}>
              <th scope="row" class={`t-${tone}`}>
                {words}
              </th>
              <td>{cleanLine(alg ?? 'unreadable')}</td>
              <td class="mono">{cleanLine(kid ?? 'no id')}</td>
              <td class="small">
                {keysAt === undefined ? (
                  cleanLine(message)
                ) : (
                  <>
                    the server of the agent, with a key that it publishes at{' '}
                    <span class="mono">{cleanLine(keysAt)}</span>
                  </>
                )}
                {keysAt === undefined && jku !== undefined ? (
                  <div class="dim">key set: {cleanLine(jku)}</div>
                ) : null}
              </td>
            </tr>
          );
        })}
      </WideTable>
    </>
  );
}
