/**
 * Converts an agent's card to the profile that the gateway shows. The profile has only some fields of the card, each
 * with a maximum length. Fields such as addresses and security schemes are left out, because they apply to the agent's
 * own endpoint, and callers use the gateway's endpoint.
 */
import { literalAddress, networkGuard } from '../../base/net/index.ts';
import type { AgentCard, AgentExtension, AgentSkill } from '../../protocol/index.ts';
import type { AgentProfile } from '../../tasks/index.ts';
import { WEB_ADDRESS, withoutAddresses } from './failure.ts';

const MAX_NAME = 200;
const MAX_TEXT = 2000;
const MAX_WORD = 128;
const MAX_URI = 512;
const MAX_SKILLS = 100;
const MAX_LIST = 32;

const publicOnly = networkGuard();
/** Host names that do not exist in public DNS. */
const PRIVATE_NAME =
  /^[^.]+\.?$|\.(?:internal|intranet|private|corp|home|lan|local|localdomain|home\.arpa)\.?$/i;

export interface ExposedOptions {
  /** The operator's description of the agent. It replaces the description in the card. */
  readonly description?: string | undefined;
  /** The agent's addresses, which must not be shown. */
  readonly hidden: readonly string[];
}

export function exposedProfile(card: AgentCard, options: ExposedOptions): AgentProfile {
  const text = (value: string, max: number): string => {
    const short = value.slice(0, max).toWellFormed();
    const lower = short.toLowerCase();
    const shown = options.hidden.some((address) => lower.includes(new URL(address).hostname));
    if (shown) return withoutAddresses(short, options.hidden);
    return short.replace(WEB_ADDRESS, (address) => (isInternal(address) ? '(address)' : address));
  };
  const words = (list: readonly string[] | undefined): string[] =>
    (list ?? []).slice(0, MAX_LIST).map((word) => text(word, MAX_WORD));

  function skill(offered: AgentSkill): AgentSkill {
    const { id, name, description, tags, examples, inputModes, outputModes } = offered;
    return {
      id: text(id, MAX_WORD),
      name: text(name, MAX_NAME),
      description: text(description, MAX_TEXT),
      tags: words(tags),
      ...(examples && {
        examples: examples.slice(0, MAX_LIST).map((each) => text(each, MAX_TEXT)),
      }),
      ...(inputModes && { inputModes: words(inputModes) }),
      ...(outputModes && { outputModes: words(outputModes) }),
    };
  }

  function extension({ uri, description, required }: AgentExtension): AgentExtension {
    return {
      uri,
      ...(description !== undefined && { description: text(description, MAX_TEXT) }),
      ...(required !== undefined && { required }),
    };
  }

  const extensions = (card.capabilities.extensions ?? [])
    .filter(({ uri }) => uri.length <= MAX_URI && text(uri, MAX_URI) === uri)
    .slice(0, MAX_LIST)
    .map(extension);
  const { provider } = card;
  return {
    name: text(card.name, MAX_NAME),
    description: options.description ?? text(card.description, MAX_TEXT),
    version: text(card.version, MAX_WORD),
    // The provider's URL is left out, because it may be in the agent's private network.
    ...(provider && { provider: { organization: text(provider.organization, MAX_NAME), url: '' } }),
    skills: card.skills.slice(0, MAX_SKILLS).map(skill),
    inputModes: words(card.defaultInputModes),
    outputModes: words(card.defaultOutputModes),
    ...(extensions.length > 0 && { extensions }),
  };
}

/** Returns whether the host of the web address belongs to a private network. Also true for an invalid address. */
function isInternal(address: string): boolean {
  const url = URL.parse(address);
  if (!url) return true;
  const literal = literalAddress(url);
  return literal === undefined ? PRIVATE_NAME.test(url.hostname) : !publicOnly.allows(literal);
}
