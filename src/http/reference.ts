/** The reference page: the document of the API as readable HTML, without scripts and without assets from elsewhere. */
import { html, raw } from 'hono/html';
import { COMPONENTS } from './components.ts';
import { problemsOf } from './document.ts';
import type { Operation } from './operation.ts';
import { PROBLEMS } from './problem.ts';

type Markup = ReturnType<typeof html>;

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}
code,pre{font:0.875rem/1.45 ui-monospace,monospace}pre{overflow:auto;padding:.75rem;border:1px solid #8886;border-radius:.4rem}
h2{margin-top:2.5rem;border-top:1px solid #8886;padding-top:1rem}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0}.wide{overflow-x:auto}`;

export function referencePage(operations: readonly Operation[]): Markup {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<title>temporal-continuations: HTTP API</title><style>${raw(STYLE)}</style>
</head>
<body>
<h1>temporal-continuations: HTTP API</h1>
<p>Send <code>Authorization: Bearer &lt;key&gt;</code>; bodies are <code>application/json</code>. What is outside the scope of the key does
not exist. A write may carry <code>Idempotency-Key</code>: the same request again gets the same answer. Problems are
<code>application/problem+json</code> (RFC 9457) with a stable <code>code</code>; whoever loses a race is told the <code>winner</code>.
The document for programs is <a href="/openapi.json">/openapi.json</a>.</p>
<nav aria-label="Operations"><ul>${operations.map(entry)}</ul></nav>
<main>${operations.map(section)}
<h2 id="schemas">Schemas</h2>
${Object.entries(COMPONENTS).map(
  ([name, schema]) =>
    html`<details id="${name}"><summary><code>${name}</code></summary><pre>${JSON.stringify(schema, null, 2)}</pre></details>`,
)}
</main>
</body>
</html>`;
}

function entry({ name, method, path, summary }: Operation): Markup {
  return html`<li><a href="#${name}"><code>${method.toUpperCase()} ${path}</code></a> ${summary}</li>`;
}

function section(operation: Operation): Markup {
  const { name, method, path, summary, description, permissions, query, body, answers } = operation;
  const parameters = Object.entries(query?.shape ?? {}).map(
    ([parameter, schema]) => html`<li><code>${parameter}</code> ${schema.meta?.()?.description ?? ''}</li>`,
  );
  return html`<section aria-labelledby="${name}">
<h2 id="${name}"><code>${method.toUpperCase()} ${path}</code></h2>
<p>${summary}. ${description ?? ''} Needs ${permissions.join(' or ')}.</p>
${parameters.length > 0 ? html`<p>Query:</p><ul>${parameters}</ul>` : ''}
${body ? html`<p>Body: <a href="#${body}"><code>${body}</code></a></p>` : ''}
<div class="wide"><table><thead><tr><th>Status</th><th>Meaning</th></tr></thead><tbody>
${Object.entries(answers).map(
  ([status, { description: meaning, schema }]) =>
    html`<tr><td>${status}</td><td>${meaning} ${schema ? html`<a href="#${schema}"><code>${schema}</code></a>` : ''}</td></tr>`,
)}
${problemsOf(operation).map((code) => html`<tr><td>${PROBLEMS[code][0]}</td><td><code>${code}</code> ${PROBLEMS[code][1]}</td></tr>`)}
</tbody></table></div>
</section>`;
}
