/** Strict scripted fakes of the engine's ports: what was not scripted throws, what was not used is told. */
import type { Json } from '../json.ts';
import type { Journal, JournalWrite, ModelPort, ToolCallOptions, ToolDescription, ToolPort } from './ports.ts';
import type {
  EngineCheckpoint,
  EngineEvent,
  ModelInvocationRequest,
  ModelInvocationResponse,
  ModelToolRequest,
} from './types.ts';

type Responds =
  | ModelInvocationResponse
  | Error
  | ((request: ModelInvocationRequest) => ModelInvocationResponse | Promise<ModelInvocationResponse>);

export interface ScriptedModel extends ModelPort {
  readonly requests: readonly ModelInvocationRequest[];
  /** Throws when a part of the script was not used. */
  assertDone(): void;
}

/** A model that plays `script`, one entry for each invocation. */
export function scriptedModel(script: readonly Responds[], options: { idempotent?: boolean } = {}): ScriptedModel {
  const requests: ModelInvocationRequest[] = [];
  return {
    ...options,
    requests,
    async invoke(request) {
      const scripted = script[requests.length];
      requests.push(request);
      if (scripted === undefined) throw new Error(`unexpected invocation: the script has ${script.length}`);
      if (scripted instanceof Error) throw scripted;
      return typeof scripted === 'function' ? scripted(request) : scripted;
    },
    assertDone() {
      if (requests.length < script.length)
        throw new Error(`${script.length - requests.length} responses were not used`);
    },
  };
}

export interface ScriptedTool extends Partial<ToolDescription> {
  readonly run?: (request: ModelToolRequest, options: ToolCallOptions) => Json | undefined | Promise<Json | undefined>;
}
export interface ScriptedTools extends ToolPort {
  /** The calls that were run, in order, each with its key. */
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments?: Json;
    readonly key: string;
  }[];
}

/** Tools by name; by default they run once and answer `<name> done`. */
export function scriptedTools(tools: Readonly<Record<string, ScriptedTool>>): ScriptedTools {
  const calls: ScriptedTools['calls'][number][] = [];
  return {
    calls,
    describe({ name }) {
      const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
      return tool && { effect: tool.effect ?? 'once', ...(tool.gate && { gate: tool.gate }) };
    },
    async execute(request, options) {
      const { id, name, arguments: given } = request;
      calls.push({ id, name, ...(given !== undefined && { arguments: given }), key: options.key });
      return tools[name]?.run ? tools[name].run(request, options) : `${name} done`;
    },
  };
}

export interface MemoryJournal extends Journal {
  readonly events: readonly EngineEvent[];
  readonly checkpoints: readonly EngineCheckpoint[];
  readonly writes: readonly JournalWrite[];
  /** Keys of effects that started and have no end. */
  started(): ReadonlySet<string>;
}

/** A journal in memory, which refuses a number twice; `refuses` makes a write fail. */
export function memoryJournal(refuses: (entry: JournalWrite) => boolean = () => false): MemoryJournal {
  const writes: JournalWrite[] = [];
  const numbers = new Set<number>();
  const started = new Set<string>();
  return {
    writes,
    get events() {
      return writes.flatMap(({ events }) => events);
    },
    get checkpoints() {
      return writes.flatMap(({ checkpoint }) => checkpoint ?? []);
    },
    started: () => new Set(started),
    async write(entry) {
      if (refuses(entry)) throw new Error('the journal is away');
      const { events, checkpoint, effect } = structuredClone(entry);
      const taken = events.find(({ sequence }) => numbers.has(sequence));
      if (taken) throw new Error(`event ${taken.sequence} was written before`);
      for (const { sequence } of events) numbers.add(sequence);
      if (effect?.state === 'started') started.add(effect.key);
      if (effect?.state === 'done') started.delete(effect.key);
      writes.push({ events, ...(checkpoint && { checkpoint }), ...(effect && { effect }) });
    },
  };
}
