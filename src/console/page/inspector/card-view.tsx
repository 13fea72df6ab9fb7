/** Shows the card, rendered for people or as the JSON that the agent sends to clients of one protocol version. */
import { useSignal } from '@preact/signals';
import { declaredFeatures, describeSecurity } from '../../../client/checks/index.ts';
import { clean, cleanLine } from '../../../display/index.ts';
import type { AgentCard, ProtocolVersion } from '../../../protocol/index.ts';
import { Radios } from '../parts/controls.tsx';
import { FactRow } from '../parts/task-parts.tsx';
import { LongText } from '../session/lines.tsx';
import type { Inspection } from './inspection.ts';

/** Maximum number of skills, and of other entries, in the rendered card. The JSON has all entries. */
const MAX_ENTRIES = 100;
const FIRST_ROWS = 400;

export function CardView({ inspection }: { readonly inspection: Inspection }) {
  const shown = useSignal<'page' | ProtocolVersion>('page');
  const versions = [...inspection.cards.value.keys()];
  const { card: newest } = inspection;
  if (!newest) return null;
  const copy = shown.value === 'page' ? undefined : inspection.cards.value.get(shown.value);
  return (
    <>
      <Radios
        legend="Show"
        options={['page', ...versions]}
        chosen={shown}
        wordsFor={(each) => (each === 'page' ? 'the card' : `JSON for ${each}`)}
      />
      {copy ? (
        <LongText text={JSON.stringify(copy.raw, null, 2)} first={FIRST_ROWS} safe="reveal" />
      ) : (
        <RenderedCard card={newest.card} url={newest.url} />
      )}
    </>
  );
}

function RenderedCard({ card, url }: { readonly card: AgentCard; readonly url: string }) {
  const { provider, documentationUrl, capabilities } = card;
  const features = declaredFeatures(card);
  return (
    <div class="agent-card">
      <h2>
        {cleanLine(card.name)} <span class="dim">{cleanLine(card.version)}</span>
      </h2>
      <p class="said-by-agent">{clean(card.description)}</p>
      <dl class="facts">
        <FactRow name="Features">
          {features.join(', ') || 'no streaming, no push notifications'}
        </FactRow>
        <FactRow name="Input">{list(card.defaultInputModes)}</FactRow>
        <FactRow name="Output">{list(card.defaultOutputModes)}</FactRow>
        <FactRow name="Security">{cleanLine(describeSecurity(card))}</FactRow>
        {provider ? (
          <FactRow name="Provider">
            {cleanLine(provider.organization)} <Address url={provider.url} />
          </FactRow>
        ) : null}
        {documentationUrl === undefined ? null : (
          <FactRow name="Documentation">
            <Address url={documentationUrl} />
          </FactRow>
        )}
        <FactRow name="Card">
          <Address url={url} />
        </FactRow>
      </dl>
      <h3>Interfaces</h3>
      <ul class="plain-list">
        {card.supportedInterfaces.slice(0, MAX_ENTRIES).map((offer, at) => (
          <li key={at}>
            <strong>
              {cleanLine(offer.protocolVersion)} {cleanLine(offer.protocolBinding)}
            </strong>{' '}
            <span class="mono">{cleanLine(offer.url)}</span>
            {offer.tenant ? <span class="dim"> tenant {cleanLine(offer.tenant)}</span> : null}
          </li>
        ))}
      </ul>
      <h3>Skills</h3>
      {card.skills.length === 0 ? <p class="dim">None.</p> : null}
      <ul class="plain-list">
        {card.skills.slice(0, MAX_ENTRIES).map((skill, at) => (
          <li key={at}>
            <div>
              <strong>{cleanLine(skill.name)}</strong>{' '}
              <span class="dim mono">{cleanLine(skill.id)}</span>
              {skill.tags.slice(0, 12).map((tag) => (
                <span class="chip">{cleanLine(tag)}</span>
              ))}
              <div class="said-by-agent">{clean(skill.description)}</div>
              {skill.examples?.slice(0, 5).map((example) => (
                <div class="dim">“{cleanLine(example)}”</div>
              ))}
            </div>
          </li>
        ))}
      </ul>
      {capabilities.extensions?.length ? (
        <>
          <h3>Extensions</h3>
          <ul class="plain-list">
            {capabilities.extensions.slice(0, MAX_ENTRIES).map((extension, at) => (
              <li key={at}>
                <div>
                  <span class="mono">{cleanLine(extension.uri)}</span>{' '}
                  <span class="dim">{extension.required === true ? 'required' : 'optional'}</span>
                  <div>{cleanLine(extension.description ?? '')}</div>
                </div>
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </div>
  );
}

function list(modes: readonly string[]): string {
  return modes.length === 0 ? 'not declared' : cleanLine(modes.slice(0, MAX_ENTRIES).join(', '));
}

/** An address from the agent's card. An http or https URL becomes a link, and any other address is drawn as text. */
function Address({ url }: { readonly url: string }) {
  const shown = cleanLine(url);
  const target = URL.parse(url);
  if (!target || !/^https?:$/.test(target.protocol)) return <span class="mono">{shown}</span>;
  return (
    <a class="mono" href={target.href} target="_blank" rel="noopener noreferrer">
      {shown}
    </a>
  );
}
