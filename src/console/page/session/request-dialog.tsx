/**
 * The dialog that asks about a call. It shows the whole call, with invisible characters as symbols, and a button for
 * each option. It does not take the focus from a person who is typing. Its buttons work only after it has been on the
 * screen for a moment, so that a tap that was meant for something else answers nothing.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import {
  cancelOption,
  isInWords,
  isQuestion,
  reveals,
  revealsLine,
  titleOfRequest,
  type CallEntry,
} from '../../../display/index.ts';
import type { ConfirmationOption } from '../../../protocol/development-tool/index.ts';
import {
  argumentText,
  callDetails,
  OPTION,
  requestId,
  type CallDetail,
} from '../../../protocol/schema-free/index.ts';
import { Counts, Helper } from './entries.tsx';
import { ChangeView, LongText } from './lines.tsx';
import type { Editing, PageSession } from './page-session.ts';
import { bound, PageButton } from '../parts/controls.tsx';

/** How long the dialog must be on the screen before its buttons work. */
const OPENING_MS = 400;
const FIRST_ROWS = 400;

export function RequestDialog({ store }: { readonly store: PageSession }) {
  const asking = store.asking;
  const [entry] = asking;
  if (!entry) return null;
  return (
    <Request key={requestId(entry.call)} store={store} entry={entry} others={asking.length - 1} />
  );
}

interface RequestProps {
  readonly store: PageSession;
  readonly entry: CallEntry;
  readonly others: number;
}

function Request({ store, entry, others }: RequestProps) {
  const box = useRef<HTMLElement>(null);
  const [ready, setReady] = useState(false);
  const speaks = useSignal(false);
  const words = useSignal('');
  const { call } = entry;
  const options = call.confirmation_request?.options ?? [];
  const question = isQuestion(entry);

  useLayoutEffect(() => {
    const timer = setTimeout(() => setReady(true), OPENING_MS);
    const active = document.activeElement;
    const typing =
      (active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement) &&
      active.value !== '';
    // The box gets the focus, not a button: Enter must not approve anything that the person has not read.
    if (!typing) box.current?.focus();
    return () => clearTimeout(timer);
  }, []);

  const choose = (option: ConfirmationOption) => {
    if (!ready) return;
    if (isInWords(option)) {
      if (speaks.value && words.value.trim() !== '') say();
      else speaks.value = true;
    } else store.run(store.answers.choose(entry, option));
  };
  const say = () => {
    if (ready && words.value.trim() !== '') store.run(store.answers.speak(entry, words.value));
  };
  const cancel = cancelOption(entry);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target instanceof HTMLTextAreaElement;
    if (event.key === 'Escape' && typing) {
      speaks.value = false;
      box.current?.focus();
    } else if (event.key === 'Escape' && cancel) choose(cancel);
    else if (!typing && /^[1-9]$/.test(event.key)) {
      const option = options[Number(event.key) - 1];
      if (option) choose(option);
    } else return;
    event.preventDefault();
  };

  return (
    <section
      class="dialog"
      role="dialog"
      aria-labelledby="dialog-title"
      aria-describedby="dialog-about"
      tabIndex={-1}
      ref={box}
      onKeyDown={store.mayApprove ? onKeyDown : undefined}
    >
      <h2 id="dialog-title">
        <Counts diff={call.confirmation_request?.file_edit_details} />
        <Helper name={call.agent} />
        {titleOfRequest(entry)}
        {others > 0 ? <span class="others">1 of {others + 1}</span> : null}
      </h2>
      <div id="dialog-about" class="about" tabIndex={0} role="group" aria-label="The whole call">
        {callDetails(call).map((detail) => (
          <Detail detail={detail} />
        ))}
      </div>
      {store.mayApprove ? (
        <>
          {speaks.value ? (
            <div class="words">
              <label for="dialog-words">{question ? 'Your answer' : 'Reason for rejecting'}</label>
              <textarea
                id="dialog-words"
                rows={2}
                ref={(field) => field?.focus()}
                {...bound(words)}
              />
              <PageButton class="option" disabled={!ready} onClick={say}>
                {question ? 'Send the answer' : 'Reject with this reason'}
              </PageButton>
            </div>
          ) : null}
          <div class="options">
            {usualFirst(options).map((option) => (
              <PageButton
                key={option.id}
                class={`option ${LOOKS[option.id] ?? 'other-option'}`}
                disabled={!ready}
                title={option.description && revealsLine(option.description)}
                onClick={() => choose(option)}
              >
                {revealsLine(option.name)}
              </PageButton>
            ))}
            {question || speaks.value ? null : (
              <PageButton class="option link" onClick={() => (speaks.value = true)}>
                Reject with a reason…
              </PageButton>
            )}
          </div>
        </>
      ) : (
        <p class="dim">This client can only watch. Another client has to answer.</p>
      )}
    </section>
  );
}

const LOOKS: Readonly<Record<string, string>> = {
  [OPTION.once]: 'allow',
  [OPTION.cancel]: 'reject',
};

/** Returns the options with the two usual answers first. */
function usualFirst(options: readonly ConfirmationOption[]): ConfirmationOption[] {
  const isUsual = ({ id }: ConfirmationOption) => id in LOOKS;
  return [...options.filter(isUsual), ...options.filter((option) => !isUsual(option))];
}

function Detail({ detail }: { readonly detail: CallDetail }) {
  switch (detail.kind) {
    case 'change': {
      const { diff } = detail;
      return (
        <>
          <p class="place">
            {revealsLine(diff.file_path)}
            {diff.old_content === undefined ? <span class="tag">new file</span> : null}
          </p>
          <ChangeView diff={diff} first={FIRST_ROWS} />
        </>
      );
    }
    case 'command':
      return (
        <>
          {detail.folder === undefined ? null : (
            <p class="place">in {revealsLine(detail.folder)}</p>
          )}
          <div class="command">
            <LongText text={detail.command} first={FIRST_ROWS} safe="reveal" />
          </div>
        </>
      );
    case 'mcp':
      return <p class="place">MCP server {revealsLine(detail.server)}</p>;
    case 'argument': {
      const { text } = argumentText(detail.value);
      return (
        <div class="argument">
          <div class="argument-name">{reveals(detail.name)}</div>
          <LongText text={text} first={FIRST_ROWS} safe="reveal" />
        </div>
      );
    }
    default:
      return (
        <LongText
          text={detail.text}
          first={FIRST_ROWS}
          safe="reveal"
          patch={detail.kind === 'patch'}
        />
      );
  }
}

/** The field in which the person edits the proposed content of a file. */
export function ContentEditor({ store }: { readonly store: PageSession }) {
  const editing = store.editing.value;
  return editing ? <EditorBox key={editing.fileName} editing={editing} /> : null;
}

function EditorBox({ editing }: { readonly editing: Editing }) {
  const box = useRef<HTMLDialogElement>(null);
  const text = useSignal(editing.text);
  useEffect(() => box.current?.showModal(), []);
  return (
    <dialog
      class="editor"
      ref={box}
      aria-labelledby="editor-title"
      onCancel={() => editing.done(undefined)}
    >
      <h2 id="editor-title">Edit {revealsLine(editing.fileName)}</h2>
      <label class="hidden" for="editor-text">
        Content
      </label>
      <textarea id="editor-text" spellcheck={false} {...bound(text)} />
      <div class="options">
        <PageButton class="option allow" onClick={() => editing.done(text.value)}>
          Allow with these changes
        </PageButton>
        <PageButton class="option" onClick={() => editing.done(undefined)}>
          Back
        </PageButton>
      </div>
    </dialog>
  );
}
