/**
 * The dialog that asks about a call. It shows the whole call, with invisible characters as symbols, and a button for
 * each option. The dialog does not take the focus from a field, because the person may be typing there. Its buttons
 * work only after the dialog has been on the screen for OPENING_MS without a key press. So a tap or a key that was
 * meant for something else usually does not answer the question.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import {
  cancelOption,
  isInWords,
  isQuestion,
  OPENING_MS,
  reveals,
  revealsLine,
  titleOfRequest,
  type CallEntry,
} from '../../../display/index.ts';
import type { ConfirmationOption } from '../../../protocol/development-tool/index.ts';
import {
  argumentText,
  callDetails,
  requestId,
  type CallDetail,
} from '../../../protocol/schema-free/index.ts';
import { shortcutOf, lookOf, optionForKey, usualFirst } from './dialog-options.ts';
import { Counts, Helper } from './entries.tsx';
import { ChangeView, LongText } from './lines.tsx';
import type { Editing, PageSession } from './page-session.ts';
import { bound, PageButton, WordsField } from '../parts/controls.tsx';

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
  // Without a mouse, for example on a phone, the buttons have no numbers, and number keys do nothing.
  const [hasKeys] = useState(() => matchMedia('(hover: hover) and (pointer: fine)').matches);
  const question = isQuestion(entry);

  useLayoutEffect(() => {
    const active = document.activeElement;
    const inField = active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement;
    // The box gets the focus, not a button: Enter must not approve anything that the person has not read.
    if (!inField) box.current?.focus();
  }, []);

  useLayoutEffect(() => {
    if (ready) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => setReady(true), OPENING_MS);
    };
    wait();
    // Each key press starts the wait again, because a person who is typing may not have seen the dialog yet.
    addEventListener('keydown', wait, { capture: true });
    return () => {
      clearTimeout(timer);
      removeEventListener('keydown', wait, { capture: true });
    };
  }, [ready]);

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
    } else {
      const numbered = hasKeys ? options : [];
      const option = event.key === 'Escape' ? cancel : optionForKey(numbered, event.key);
      if (typing || !option) return;
      choose(option);
    }
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
              <WordsField label={question ? 'Your answer' : 'Reason for rejecting'} words={words} />
              <PageButton class="option" disabled={!ready} onClick={say}>
                {question ? 'Send the answer' : 'Reject with this reason'}
              </PageButton>
            </div>
          ) : null}
          <div class="options">
            {usualFirst(options).map((option) => (
              <PageButton
                key={option.id}
                class={`option ${lookOf(option)}`}
                disabled={!ready}
                title={option.description && revealsLine(option.description)}
                aria-keyshortcuts={hasKeys ? shortcutOf(options, option) : undefined}
                onClick={() => choose(option)}
              >
                {revealsLine(option.name)}
              </PageButton>
            ))}
            {question || speaks.value ? null : (
              <PageButton
                class="option link"
                disabled={!ready}
                onClick={() => (speaks.value = true)}
              >
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
