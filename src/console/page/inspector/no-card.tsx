/** What the inspector shows if the agent has no card that can be read: why, what that means, and what to do. */
import { reasonOf } from '../../../base/index.ts';
import { ConnectionError } from '../../../client/index.ts';
import { clean } from '../../../display/index.ts';
import { A2AError } from '../../../protocol/index.ts';
import { PageMessage } from '../parts/loading.tsx';
import { hrefOf, route } from '../server/route.ts';

export function NoCard({ error }: { readonly error: unknown }) {
  const { title, fix } = explain(error);
  return (
    <PageMessage title={title} role="alert">
      <p class="said">{clean(reasonOf(error))}</p>
      <p>{fix}</p>
      <p>
        <a href={hrefOf(route.value.path, { view: 'requests' })}>See what was sent and received</a>
      </p>
    </PageMessage>
  );
}

interface Explained {
  readonly title: string;
  readonly fix: string;
}

const CREDENTIALS: Explained = {
  title: 'The agent requires credentials',
  fix: 'Enter a token or another header under “Headers”. A card should be readable without credentials, because clients learn from it which ones they need.',
};
const BUSY: Explained = { title: 'The agent is busy', fix: 'Wait a moment, then check again.' };

const REFUSALS: Partial<Record<A2AError['kind'], Explained>> = {
  unauthenticated: CREDENTIALS,
  forbidden: CREDENTIALS,
  rateLimited: BUSY,
  unavailable: BUSY,
};

const FAILURES: Partial<Record<ConnectionError['reason'], Explained>> = {
  card: {
    title: 'There is no agent card at this address',
    fix: 'Check the address. Serve the card at /.well-known/agent-card.json, as application/json.',
  },
  redirect: {
    title: 'The address redirects',
    fix: 'If you trust the other address, inspect that one.',
  },
  timeout: {
    title: 'The agent does not answer in time',
    fix: 'Check that it is not overloaded.',
  },
  untrusted: {
    title: 'Requests to this address are not allowed',
    fix: 'To inspect this address, start parley inspect with it.',
  },
};

function explain(error: unknown): Explained {
  if (error instanceof ConnectionError) {
    const title = 'The agent cannot be reached';
    const fix = 'Check the address, and that the agent is running.';
    return FAILURES[error.reason] ?? { title, fix };
  }
  const title = 'The card cannot be read';
  if (!(error instanceof A2AError)) return { title, fix: 'See the requests for the details.' };
  const fix = 'Compare the card with the AgentCard object of the specification.';
  return REFUSALS[error.kind] ?? { title, fix };
}
