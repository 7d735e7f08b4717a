/** Shows the form by which people say what they want to get, and where. */

import { html } from 'hono/html';
import { FILE_FORMS, TARGET_KINDS } from '../../../../shared/events/subscription/subscription-order.ts';
import {
  SUBJECT_NAMES,
  type SubjectName,
  subjectOf,
} from '../../../../shared/events/subscription/subscription-subjects.ts';
import type { Html } from '../html/markup.ts';
import type { SubscriptionChoice } from './subscription-choice.ts';

const FORM_TITLES: Readonly<Record<keyof typeof FILE_FORMS, string>> = {
  cdk: 'AWS CDK (TypeScript)',
  cloudformation: 'CloudFormation (YAML)',
  terraform: 'Terraform',
  cli: 'AWS CLI (a script)',
};

/** The form leads to the same page, whose address then has the choice. */
export function subscriptionForm(choice: SubscriptionChoice): Html {
  const { subscription, target, form, name, takesTests } = choice;
  const { projects, actions, statuses, accounts, replays } = subscription;
  return html`<form method="get" action="/console/subscribe">
<fieldset class="choices"><legend>The subscriber gets</legend><div class="wide">${SUBJECT_NAMES.map((subject) => subjectOption(subject, subscription.subject))}</div></fieldset>
<fieldset class="choices"><legend>Which of them</legend><div class="row">
${field('project', 'Projects', projects)}${field('action', 'Actions', actions)}${field('status', 'Statuses, states or outcomes', statuses)}</div>
<p class="quiet">Separate several values by commas. An empty field limits nothing.</p>
${box('own_account', 'only this account', accounts.length > 0)}
${box('no_replays', 'no copies of past events, which a replay sends', replays === 'left_out')}
${box('tests', 'test events, too, by their own source operations-bridge.test', takesTests)}</fieldset>
<fieldset class="choices"><legend>Delivered to</legend><div class="row">
<div><label for="target">Target</label><select id="target" name="target">${Object.entries(TARGET_KINDS).map(([value, meaning]) => option(value, meaning, target))}</select></div>
<div><label for="form">File</label><select id="form" name="form">${Object.keys(FILE_FORMS).map((value) => option(value, FORM_TITLES[value as keyof typeof FILE_FORMS], form))}</select></div>
<div><label for="name">Name</label><input id="name" name="name" value="${name}" size="24" maxlength="40" pattern="[A-Za-z](-?[A-Za-z0-9])*" title="Letters, digits and single dashes"></div></div></fieldset>
<p><button class="do">Show the subscription</button></p></form>`;
}

function subjectOption(subject: SubjectName, chosen: SubjectName): Html {
  return html`<label><input type="radio" name="subject" value="${subject}"${subject === chosen ? html` checked` : ''}> <b>${titleOf(subject)}</b> <span class="quiet">${subjectOf(subject).meaning}</span></label>`;
}

/** Returns the name in words: "Ready branches". */
function titleOf(subject: SubjectName): string {
  const words = subject.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function field(name: string, label: string, values: readonly string[]): Html {
  return html`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${values.join(', ')}" size="26" autocomplete="off" spellcheck="false"></div>`;
}

function box(name: string, meaning: string, isTicked: boolean): Html {
  return html`<label><input type="checkbox" name="${name}"${isTicked ? html` checked` : ''}> ${meaning}</label>`;
}

function option(value: string, meaning: string, chosen: string): Html {
  return html`<option value="${value}"${value === chosen ? html` selected` : ''}>${meaning}</option>`;
}
