/** The results of the checks of an agent: `parley card --verify` prints them, and the inspector shows them. */
import { defined } from '../../base/index.ts';

/** A problem that a check may find. */
export type ProblemName = keyof typeof EXPLANATIONS;

export interface AgentCheck {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'broken';
  /** The result. It may contain text of the agent, so it must be cleaned before it is shown. */
  readonly message: string;
  /** The kind of problem. Undefined if there is none, or if the message itself explains it. */
  readonly problem?: ProblemName | undefined;
  /** The other origin to which the card leads. Set only for the problem `other-origin`. */
  readonly origin?: string | undefined;
}

/** The meaning of a problem for the clients of the agent, and how to fix it. */
interface Explanation {
  readonly meaning: string;
  readonly fix: string;
}

export const EXPLANATIONS = {
  'missing-fields': {
    meaning:
      'The specification requires these fields. Clients that validate the card may refuse the agent.',
    fix: 'Add the fields to the card.',
  },
  'skill-ids': {
    meaning: 'Clients choose a skill by its id, so they cannot tell these skills apart.',
    fix: 'Give each skill its own id.',
  },
  'no-skills': {
    meaning: 'People and orchestrators choose an agent by its skills. They may pass over this one.',
    fix: 'List at least one skill, with a description and an example.',
  },
  'no-modes': {
    meaning: 'Clients cannot tell which content the agent accepts or returns.',
    fix: 'Set defaultInputModes and defaultOutputModes, for example to ["text/plain"].',
  },
  'unknown-scheme': {
    meaning: 'Clients do not know how to authenticate, because the scheme is not described.',
    fix: 'Describe the scheme in securitySchemes, or remove it from the security requirements.',
  },
  'bad-address': {
    meaning: 'Clients cannot connect to this interface.',
    fix: 'Write an absolute http or https URL, without user name and password.',
  },
  'plain-http': {
    meaning:
      'Others in the network can read and change the requests. Careful clients refuse an http address in a card that came over https.',
    fix: 'Serve the interface over https, and write its https address in the card.',
  },
  'own-machine': {
    meaning: 'On every other machine, this address leads to that machine itself, not to the agent.',
    fix: 'Write the public address of the agent in the card. For parley serve, that is --public-url.',
  },
  'old-path': {
    meaning:
      'Clients of A2A 0.3 and newer look for the card at /.well-known/agent-card.json. Some do not try the old path.',
    fix: 'Serve the card at /.well-known/agent-card.json too.',
  },
  unreachable: {
    meaning: 'Clients that choose this interface cannot use the agent.',
    fix: 'Check that the agent listens at this address, or correct the address in the card.',
  },
  'wrong-answer': {
    meaning:
      'The agent was asked for a task that does not exist, and did not answer with the error "task not found". Its clients may misread other errors too.',
    fix: 'Check that the address, the binding and the version in the card belong together. Then look at the request and its response.',
  },
  'invented-task': {
    meaning: 'The agent returns a task for an id that it has never issued.',
    fix: 'Answer with the error "task not found" (JSON-RPC -32001, HTTP 404).',
  },
  credentials: {
    meaning: 'The agent refuses requests without credentials, so this could not be checked.',
    fix: 'Give a token or a header, and check again.',
  },
  'other-origin': {
    meaning:
      'The card leads to another server than the one that you named. That server gets no requests, and none of your headers, until you agree.',
    fix: 'Agree only if you know the server and trust it.',
  },
  'not-supported-here': {
    meaning: 'This client does not support the binding or the version, so nothing was tried.',
    fix: 'Nothing needs to be fixed if the interface works for other clients.',
  },
  'broken-promise': {
    meaning: 'Clients read the card and use this feature. Their requests will fail.',
    fix: 'Support the feature, or set it to false in the card.',
  },
  undeclared: {
    meaning: 'The feature works, but clients do not use it, because the card does not declare it.',
    fix: 'Set the feature to true in the card.',
  },
  open: {
    meaning: 'Anybody who can reach the agent can use it, although the card says otherwise.',
    fix: 'Answer requests that have no credentials with HTTP 401, or remove the requirement from the card.',
  },
  'untrusted-key': {
    meaning:
      'The card is signed, but not with a key that the server of the agent publishes. The signature may be valid with a key that is not known here.',
    fix: 'Get the public key of the signer from a source that you trust, and verify the card with it: parley card URL --verify --trust-key FILE.',
  },
  'invalid-signature': {
    meaning:
      'The card was changed after it was signed, or the signed text was not the canonical JSON of the card (RFC 8785). Clients that verify signatures refuse the agent.',
    fix: 'Sign the card again after each change, as the last step before it is served. Check whether a proxy changes it.',
  },
  'no-keys': {
    meaning:
      'The signature names a key set that cannot be fetched, so the card cannot be verified.',
    fix: 'Publish the keys at the address in the signature (jku), as a JWK set.',
  },
} as const satisfies Readonly<Record<string, Explanation>>;

const check =
  (status: AgentCheck['status']) =>
  (name: string, message: string, problem?: ProblemName, origin?: string): AgentCheck => {
    return { name, status, message, ...defined({ problem, origin }) };
  };

export const fine = check('ok');
export const doubtful = check('warning');
export const wrong = check('broken');
