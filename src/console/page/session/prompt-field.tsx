/** The field for a prompt, with completion of commands and files. Also shows how long the turn has been running. */
import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import {
  cleanLine,
  commandChoices,
  completableAt,
  fileChoices,
  isBusy,
  timeSince,
  type Choice,
  type Completable,
} from '../../../display/index.ts';
import { HAS_QUEUE, type PageSession } from './page-session.ts';
import { PageButton, Form } from '../parts/controls.tsx';

/** Maximum number of queued prompts that are shown. */
const MAX_QUEUED = 4;

/** Matches a touch screen. There, Enter alone starts a new line, and the person sends the prompt with the button. */
const touch = matchMedia('(pointer: coarse)');

interface Menu {
  readonly at: Completable;
  readonly choices: readonly Choice[];
  readonly selected: number;
}

export function PromptField({ store }: { readonly store: PageSession }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const text = useSignal('');
  const menu = useSignal<Menu | undefined>(undefined);
  const busy = useComputed(() => isBusy(store.state.value));
  const offline = store.connection.value !== 'connected';

  const set = (value: string, cursor = value.length) => {
    text.value = value;
    const { current } = field;
    if (!current) return;
    current.value = value;
    current.setSelectionRange(cursor, cursor);
    grow(current);
  };

  const complete = () => {
    const { current } = field;
    if (!current) return;
    const edited = { text: current.value, cursor: current.selectionStart };
    const at = completableAt(edited);
    if (!at) {
      menu.value = undefined;
      return;
    }
    store.run(
      choicesFor(store, at).then((choices) => {
        // The text may have changed while the choices were loaded.
        if (current.value !== edited.text || current.selectionStart !== edited.cursor) return;
        menu.value = choices.length > 0 ? { at, choices, selected: 0 } : undefined;
      }),
    );
  };

  const pick = ({ at, choices }: Menu, index: number) => {
    const chosen = choices[index];
    const { current } = field;
    if (!chosen || !current) return;
    // The choices may belong to an older text, because the person can type while newer choices are loaded.
    const now = completableAt({ text: text.value, cursor: current.selectionStart });
    if (now?.start !== at.start) return;
    const after = text.value.slice(at.start + now.prefix.length);
    set(text.value.slice(0, at.start) + chosen.text + after, at.start + chosen.text.length);
    current.focus();
    complete();
  };

  const send = () => {
    const prompt = text.value.trim();
    if (prompt === '' || offline) return;
    menu.value = undefined;
    set('');
    store.run(
      store.prompt(prompt).catch((error: unknown) => {
        // The text goes back into the field, so that it can be sent again.
        if (text.value === '') set(prompt);
        throw error;
      }),
    );
  };
  const stop = () => store.run(store.session.cancel());

  const onKeyDown = (event: KeyboardEvent) => {
    const open = menu.value;
    if (event.isComposing) return;
    if (open && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      const step = event.key === 'ArrowDown' ? 1 : open.choices.length - 1;
      menu.value = { ...open, selected: (open.selected + step) % open.choices.length };
    } else if (open && (event.key === 'Tab' || (event.key === 'Enter' && isPartial(open)))) {
      pick(open, open.selected);
    } else if (open && event.key === 'Escape') menu.value = undefined;
    else if (event.key === 'Escape' && busy.value && text.value === '') stop();
    else if (event.key === 'Enter' && sends(event)) send();
    else return;
    event.preventDefault();
  };

  const open = menu.value;
  return (
    <footer class="composer">
      <Queue store={store} />
      <Activity store={store} onStop={stop} />
      {open ? (
        <ul id="choices" class="choices" role="listbox" aria-label="Completions">
          {open.choices.map((choice, index) => (
            <li
              key={choice.text}
              id={`choice-${index}`}
              role="option"
              aria-selected={index === open.selected}
              // The field keeps the focus.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => pick(open, index)}
            >
              <span class="choice">{choice.text}</span>
              <span class="dim">{cleanLine(choice.description)}</span>
            </li>
          ))}
        </ul>
      ) : null}
      <Form class="field" onSubmit={send}>
        <label class="hidden" for="prompt">
          Prompt
        </label>
        <textarea
          id="prompt"
          ref={field}
          rows={1}
          enterkeyhint={touch.matches ? 'enter' : 'send'}
          autocomplete="off"
          placeholder={store.mayPrompt ? 'Ask for something' : 'This client can only watch'}
          disabled={!store.mayPrompt || store.connection.value === 'ended'}
          aria-haspopup="listbox"
          aria-controls={open ? 'choices' : undefined}
          aria-autocomplete="list"
          aria-activedescendant={open ? `choice-${open.selected}` : undefined}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
            grow(currentTarget);
            complete();
          }}
          onBlur={() => (menu.value = undefined)}
          onKeyDown={onKeyDown}
        />
        <button
          type="submit"
          class="send"
          disabled={text.value.trim() === '' || offline || !store.mayPrompt}
        >
          {busy.value && HAS_QUEUE ? 'Queue' : 'Send'}
        </button>
      </Form>
    </footer>
  );
}

/** Returns whether Enter completes the text. If the text is already complete, Enter sends it. */
function isPartial({ at, choices, selected }: Menu): boolean {
  return choices[selected]?.text.trim() !== at.prefix.trim();
}

function sends(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey) return true;
  return !touch.matches && !event.shiftKey && !event.altKey;
}

function grow(field: HTMLTextAreaElement): void {
  field.rows = Math.min(8, field.value.split('\n').length);
}

async function choicesFor({ session }: PageSession, at: Completable): Promise<Choice[]> {
  if (at.kind === 'file') return fileChoices((await session.files?.(at.prefix)) ?? []);
  return commandChoices(await session.commands(), at.prefix);
}

function Queue({ store }: { readonly store: PageSession }) {
  const { queued } = store.state.value;
  if (queued.length === 0) return null;
  const more = queued.length - MAX_QUEUED;
  return (
    <ul class="queue" aria-label="Queued prompts">
      {queued.slice(0, MAX_QUEUED).map(({ text, from }) => (
        <li>
          <span class="other">{cleanLine(from)}:</span> {cleanLine(text)}
        </li>
      ))}
      {more > 0 ? <li>and {more} more</li> : null}
    </ul>
  );
}

function Activity({ store, onStop }: { readonly store: PageSession; readonly onStop: () => void }) {
  const now = useSignal(Date.now());
  const since = store.busySince.value;
  useEffect(() => {
    if (since === undefined) return undefined;
    const timer = setInterval(() => (now.value = Date.now()), 1000);
    return () => clearInterval(timer);
  }, [since]);
  if (since === undefined) return null;
  return (
    <div class="activity">
      <span class="spinner" />
      <span class="dim">Working {timeSince(since, now.value)}</span>
      {store.mayPrompt ? (
        <PageButton class="stop" onClick={onStop}>
          Stop
        </PageButton>
      ) : null}
    </div>
  );
}
