/** One form for each kind of answer. Each names what its page showed, and a message of its own: sent twice, it counts once. */
import { randomUUID } from 'node:crypto';
import type { Child, FC } from 'hono/jsx';
import type { ContinuationView } from '../../reading.ts';
import type { WaitType } from '../../schema.ts';
import { lines } from './answer-form.ts';
import { Call } from './calls.tsx';
import { Radios, Select, TextArea, type Typed } from './fields.tsx';
import { FormToken, type Viewer } from './page.tsx';

export interface AnswerProps {
  readonly viewer: Viewer;
  readonly view: ContinuationView;
  readonly typed: Typed | undefined;
}

export const AnswerForm: FC<AnswerProps> = (props) => {
  const Fields = FIELDS[props.view.waitFor.type];
  return (
    <form method="post" action={`${props.viewer.place.base}/${props.view.id}/answer`}>
      <Seen {...props} />
      <Fields {...props} />
    </form>
  );
};

/** The field that ties an answer to what it is for. */
function correlationOf({ waitFor }: ContinuationView): string | undefined {
  const [, value] = Object.entries(waitFor).find(([name]) => CORRELATIONS.includes(name)) ?? [];
  return value;
}
const CORRELATIONS = ['correlationKey', 'approvalId', 'operationId', 'replyWith', 'wakeUpId'];

const Seen: FC<AnswerProps> = ({ viewer, view, typed }) => {
  const { suspension, waitFor } = view;
  const hidden: Array<[string, string | undefined]> = [
    ['messageId', typed?.fields.get('messageId') ?? `inbox-${randomUUID()}`],
    ['suspensionId', suspension.id],
    ['suspensionDigest', suspension.digest],
    ['type', waitFor.type],
    ['correlation', correlationOf(view)],
    ['calls', String(suspension.pending.length)],
    ...suspension.pending.flatMap(
      ({ id, argumentsDigest }, number): Array<[string, string]> => [
        [`call-${number}`, id],
        [`digest-${number}`, argumentsDigest],
      ],
    ),
  ];
  return (
    <>
      <FormToken viewer={viewer} />
      {hidden.map(([name, value]) => value !== undefined && <input type="hidden" name={name} value={value} />)}
    </>
  );
};

const Buttons: FC<{ children?: Child }> = ({ children }) => <div class="buttons">{children}</div>;

const Reply: FC<AnswerProps> = ({ view, typed }) => (
  <>
    <Calls view={view} />
    <TextArea name="text" label="Your reply" typed={typed} rows={5} required />
    <Buttons>
      <button type="submit" class="primary">
        Send reply
      </button>
    </Buttons>
  </>
);

const Approval: FC<AnswerProps> = (props) =>
  props.view.suspension.pending.length > 1 ? <Decisions {...props} /> : <Decision {...props} />;

/** What a denial leads to. */
function afterDenial({ bounds }: ContinuationView): string {
  return bounds.onDenied === 'stop'
    ? 'A denial ends this here; the agent does not go on.'
    : 'The agent is told of a denial, in your words, and goes on.';
}

const Decision: FC<AnswerProps> = ({ view, typed }) => (
  <>
    <Calls view={view} />
    {view.suspension.pending.length === 1 && <Edit view={view} number={0} typed={typed} />}
    <TextArea name="reason" label="Your words (optional)" typed={typed} rows={2} hint={afterDenial(view)} />
    {typed?.faults.decision && <p class="fault">{typed.faults.decision}</p>}
    <Buttons>
      <button type="submit" name="decision" value="approved" class="primary">
        Approve
      </button>
      <button type="submit" name="decision" value="denied" class="danger">
        Deny
      </button>
    </Buttons>
  </>
);

const Decisions: FC<AnswerProps> = ({ view, typed }) => (
  <>
    {view.suspension.pending.map((call, number) => (
      <div class="decision">
        <Call call={call} text={argumentsOf(view, number)} number={number + 1} />
        <Radios
          name={`decision-${number}`}
          label={`Decision about call ${number + 1}`}
          typed={typed}
          choices={{ approved: 'Approve', denied: 'Deny' }}
        />
        <Edit view={view} number={number} typed={typed} />
        <TextArea name={`reason-${number}`} label="Your words, with a denial (optional)" typed={typed} rows={1} />
      </div>
    ))}
    <p class="hint">{afterDenial(view)} When some are approved, it always goes on.</p>
    <Buttons>
      <button type="submit" class="primary">
        Send decisions
      </button>
      <button type="submit" name="all" value="approved" formnovalidate>
        Approve all {view.suspension.pending.length}
      </button>
      <button type="submit" name="all" value="denied" class="danger" formnovalidate>
        Deny all
      </button>
    </Buttons>
  </>
);

/** Editing is opt-in, and what changes is shown before it is sent. */
const Edit: FC<{ view: ContinuationView; number: number; typed: Typed | undefined }> = ({ view, number, typed }) => {
  const name = `arguments-${number}`;
  const text = argumentsOf(view, number);
  const isOpen = typed?.fields.has(name) && lines(typed.fields.get(name) ?? '') !== lines(text);
  return (
    <details class="edit" open={isOpen}>
      <summary>Edit the arguments</summary>
      <TextArea
        name={name}
        label="Arguments to run it with"
        typed={typed}
        value={text}
        rows={Math.min(16, text.split('\n').length + 3)}
        code
        hint="You see what changes before it is sent."
      />
    </details>
  );
};

const FORMATS = { text: 'Text', json: 'JSON' };
const OUTCOMES = { result: 'It has a result', error: 'It went wrong', execute: 'Let the agent run it after all' };

const External: FC<AnswerProps> = ({ view, typed }) => (
  <>
    {view.suspension.pending.length === 0 && <Result name="payload" format="format" label="Result" typed={typed} />}
    {view.suspension.pending.map((call, number) => (
      <div class="decision">
        <Call call={call} text={argumentsOf(view, number)} number={number + 1} />
        <Radios name={`outcome-${number}`} label="What came of it" typed={typed} choices={OUTCOMES} />
        <Result name={`result-${number}`} format={`format-${number}`} typed={typed} />
      </div>
    ))}
    <Buttons>
      <button type="submit" class="primary">
        Send result
      </button>
    </Buttons>
  </>
);

const Result: FC<{ name: string; format: string; label?: string; typed: Typed | undefined }> = (props) => (
  <>
    <TextArea name={props.name} label={props.label ?? 'Result, or what went wrong'} typed={props.typed} rows={4} />
    <Select name={props.format} label="Written as" typed={props.typed} choices={FORMATS} />
  </>
);

const PERFORMATIVES = { inform: 'Here is the answer', refuse: 'It will not be done', failure: 'It went wrong' };

const AgentReply: FC<AnswerProps> = ({ view, typed }) => (
  <>
    <Calls view={view} />
    <p>You answer in place of the agent that was asked.</p>
    <Select name="performative" label="What it says" typed={typed} choices={PERFORMATIVES} />
    <TextArea name="content" label="Answer" typed={typed} rows={4} required />
    <Select name="format" label="Written as" typed={typed} choices={FORMATS} />
    <Buttons>
      <button type="submit" class="primary">
        Send answer
      </button>
    </Buttons>
  </>
);

const Wake: FC<AnswerProps> = () => (
  <Buttons>
    <button type="submit" class="primary">
      Wake it now
    </button>
  </Buttons>
);

const FIELDS: Readonly<Record<WaitType, FC<AnswerProps>>> = {
  user_reply: Reply,
  approval_resolution: Approval,
  external_result: External,
  agent_reply: AgentReply,
  scheduled_wake: Wake,
};

/** The calls of a suspension, to read. */
export const Calls: FC<{ view: ContinuationView }> = ({ view }) => (
  <>
    {view.suspension.pending.map((call, number) => (
      <Call
        call={call}
        text={argumentsOf(view, number)}
        number={view.suspension.pending.length > 1 ? number + 1 : undefined}
      />
    ))}
  </>
);

function argumentsOf({ asked }: ContinuationView, number: number): string {
  return asked?.arguments[number] ?? '';
}
