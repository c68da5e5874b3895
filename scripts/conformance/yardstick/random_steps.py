"""Random sequences: the same seed and number give the same steps. Used by run.py."""

import random

from making import *
from wire import TAG

_STATUSES = ("UP", "UP", "UP", "DOWN", "STARTING", "OUT_OF_SERVICE", "OUT_OF_SERVICE", "UNKNOWN")
_TIMES = (999, 1000, 1000, 1001, 2000)
# An id belongs to one application: overrides of an id that two share are a listed difference.
_INSTANCES = ((f"A{TAG}", f"a1{TAG}"), (f"A{TAG}", f"a:2{TAG}"), (f"A{TAG}", f"a 3{TAG}"), (f"B{TAG}", f"b1{TAG}"), (f"B{TAG}", f"b2{TAG}"))
_VIPS = (f"v{TAG}", f"V{TAG}", f"w{TAG}", f"v{TAG},w{TAG}", "")
_CENTERS = (
    {"@class": MARKER, "name": "MyOwn"},
    {"@class": MARKER, "name": "Netflix"},
    {"name": "MyOwn", "@class": "com.netflix.appinfo.MyDataCenterInfo"},
    {"@class": AMAZON, "name": "Amazon", "metadata": {"ami-id": "ami", "availability-zone": "z", "public-ipv4": "192.0.2.1"}},
)
_LEASES = ({}, {"durationInSecs": 90, "renewalIntervalInSecs": 30}, {"durationInSecs": "45"}, {"durationInSecs": 0, "renewalIntervalInSecs": -3}, None)
_METADATA = ({}, {"k": "v"}, {"zone": "ü", "a_b": "<&>", "1": "😀"}, {"n": 1, "t": True}, {"@class": "java.util.Collections$EmptyMap"}, None)


class RandomSteps:
    def __init__(self, seed: int, number: int):
        self._random = random.Random(f"{seed}/{number}")

    def steps(self, count: int) -> list:
        kinds = (
            (self._register, 22),
            (self._register_xml, 6),
            (self._renew, 16),
            (self._cancel, 6),
            (self._set_status, 9),
            (self._remove_status, 6),
            (self._metadata, 5),
            (self._batch, 9),
            (self._read_one, 10),
            (self._read_many, 10),
            (self._odd, 1),
        )
        makers = self._random.choices([maker for maker, _ in kinds], [weight for _, weight in kinds], k=count)
        return [maker() for maker in makers]

    def _pick(self, choices):
        return self._random.choice(choices)

    def _some(self, chance: float) -> bool:
        return self._random.random() < chance

    def _app(self, app: str) -> str:
        return app.lower().replace(TAG.lower(), TAG) if self._some(0.1) else app

    def _headers(self) -> tuple:
        headers = [(PEER, 0.3), (JSON, 0.3), (XML, 0.1), (("x-netflix-discovery-replication", "True"), 0.05)]
        return tuple(header for header, chance in headers if self._some(chance))

    def _fields(self) -> dict:
        """Changes to the instance, each now and then."""
        optional = {
            "status": (0.6, _STATUSES + (None, "up", LEFT_OUT)),
            "overriddenStatus": (0.08, _STATUSES),
            "overriddenstatus": (0.05, _STATUSES),
            "lastDirtyTimestamp": (0.7, _TIMES + ("1000", "1001", LEFT_OUT, None)),
            "vipAddress": (0.4, _VIPS + (LEFT_OUT, None)),
            "secureVipAddress": (0.3, _VIPS + (LEFT_OUT,)),
            "dataCenterInfo": (0.3, _CENTERS),
            "leaseInfo": (0.5, _LEASES),
            "metadata": (0.5, _METADATA),
            "port": (0.3, ({"$": "80", "@enabled": "false"}, {"$": 81, "@enabled": True}, {"@enabled": 0}, LEFT_OUT, None)),
            "securePort": (0.3, ({"$": 443, "@enabled": "true"}, {"$": "x", "@enabled": "TRUE"}, LEFT_OUT)),
            "appGroupName": (0.1, ("grp", "", None)),
            "sid": (0.1, ("na", "s")),
            "asgName": (0.1, ("asg", "", None)),
            "countryId": (0.1, (1, "2", 0)),
            "homePageUrl": (0.1, ("http://h/?a=1&b=2", "")),
            "healthCheckUrl": (0.1, ("http://h/health", None)),
            "isCoordinatingDiscoveryServer": (0.1, (True, "true", "no")),
            "lastUpdatedTimestamp": (0.1, (5, "6", "x")),
            "actionType": (0.1, ("DELETED", "x", None)),
            "hostName": (0.05, (f"other{TAG}", "192.0.2.77")),
            "more": (0.05, (1, "x", None, True)),
        }
        return {key: self._pick(choices) for key, (chance, choices) in optional.items() if self._some(chance)}

    def _register(self):
        app, id = self._pick(_INSTANCES)
        fields = self._fields()
        if self._some(0.3):
            # As many clients write it: in another order.
            keys = list(fields)
            self._random.shuffle(keys)
            fields = {key: fields[key] for key in keys}
        return register(self._app(app), id, *self._headers(), **fields)

    def _register_xml(self):
        app, id = self._pick(_INSTANCES)
        children = [
            (f"<status>{self._pick(_STATUSES + ('up', 'x'))}</status>", 0.6),
            (f"<overriddenstatus>{self._pick(_STATUSES)}</overriddenstatus>", 0.1),
            (f"<lastDirtyTimestamp>{self._pick(_TIMES)}</lastDirtyTimestamp>", 0.7),
            (f"<vipAddress>{self._pick(_VIPS)}</vipAddress>", 0.5),
            (f"<secureVipAddress>{self._pick(_VIPS)}</secureVipAddress>", 0.3),
            ('<port enabled="false">80</port>', 0.3),
            ("<securePort>443</securePort>", 0.3),
            ("<leaseInfo><durationInSecs>60</durationInSecs></leaseInfo>", 0.3),
            ("<metadata><a__b>&lt;x&gt;</a__b><_.0031>1</_.0031></metadata>", 0.3),
            ("<metadata/>", 0.05),
            ("<countryId>3</countryId><sid>s</sid><appGroupName>g</appGroupName>", 0.2),
            ("<more><a>b</a></more>", 0.1),
        ]
        center = self._pick(("<name>MyOwn</name>", "<name>Netflix</name>", "<name>amazon</name><metadata><ami-id>a</ami-id></metadata>"))
        chosen = [child for child, chance in children if self._some(chance)]
        self._random.shuffle(chosen)
        return register_xml("".join(chosen), *self._headers(), app=app, id=id, data_center=f"<dataCenterInfo>{center}</dataCenterInfo>")

    def _renew(self):
        app, id = self._pick(_INSTANCES)
        query = {}
        if self._some(0.6):
            query["lastDirtyTimestamp"] = self._pick(_TIMES)
        if self._some(0.4):
            query["status"] = self._pick(_STATUSES)
        if self._some(0.04):
            query["overriddenstatus"] = self._pick(_STATUSES)
        return renew(self._app(app), id, *self._headers(), body=self._pick((None, "{}")), **query)

    def _cancel(self):
        app, id = self._pick(_INSTANCES)
        return cancel(self._app(app), id, *self._headers())

    def _set_status(self):
        app, id = self._pick(_INSTANCES)
        query = {"value": self._pick(_STATUSES)}
        if self._some(0.5):
            query["lastDirtyTimestamp"] = self._pick(_TIMES)
        return set_status(self._app(app), id, *self._headers(), **query)

    def _remove_status(self):
        app, id = self._pick(_INSTANCES)
        query = {}
        if self._some(0.6):
            query["value"] = self._pick(_STATUSES)
        if self._some(0.4):
            query["lastDirtyTimestamp"] = self._pick(_TIMES)
        return remove_status(self._app(app), id, *self._headers(), **query)

    def _metadata(self):
        app, id = self._pick(_INSTANCES)
        # A value that nobody had before, as an unchanged one is a listed difference.
        value = self._random.randrange(10**9)
        return metadata(self._pick((f"k={value}", f"a_b={value}&c", f"x%20y={value}&x%20y=2", f"%C3%BC={value}%26")), self._app(app), id, *self._headers())

    def _batch(self):
        items = []
        for _ in range(self._random.randint(1, 3)):
            app, id = self._pick(_INSTANCES)
            action = self._pick(("Heartbeat", "Heartbeat", "Register", "Register", "Cancel", "StatusUpdate", "DeleteStatusOverride"))
            more = {} if action == "Cancel" else {"lastDirtyTimestamp": self._pick(_TIMES), "status": self._pick(_STATUSES)}
            if action == "Heartbeat" and self._some(0.05):
                more["overriddenStatus"] = self._pick(_STATUSES)
            if action == "Register":
                more["instanceInfo"] = instance(app, id, **self._fields())
            items.append(item(action, self._app(app), id, **more))
        return batch(*items, slash=self._pick(("/", "")))

    def _accept(self) -> tuple:
        return self._pick(((JSON,), (JSON,), (XML,), (XML,), (), (("Accept", "application/json, application/*+json"),), (("Accept", "*/*"),)))

    def _read_one(self):
        app, id = self._pick(_INSTANCES)
        target = self._pick((path("apps", self._app(app), id), path("apps", app, id), path("instances", id), path("apps", app, id, base="/eureka/v2")))
        compact = (COMPACT,) if self._some(0.1) else ()
        return Request(self._pick(("GET", "GET", "GET", "HEAD")), target, (*self._accept(), *compact))

    def _read_many(self):
        app, _ = self._pick(_INSTANCES)
        vip = self._pick((f"v{TAG}", f"V{TAG}", f"w{TAG}", f"x{TAG}"))
        target = self._pick(("apps", "apps/", "apps/delta", "apps/delta/", f"apps/{self._app(app)}", f"apps/{app}/", f"vips/{vip}", f"svips/{vip}", "apps?regions=", "apps/delta?regions=r", "apps?regions=R,q"))
        headers = [(COMPACT, 0.25), (GZIP, 0.3)]
        base = self._pick(("/eureka/", "/eureka/v2/"))
        return Request(self._pick(("GET", "GET", "GET", "GET", "HEAD")), base + target, (*self._accept(), *(header for header, chance in headers if self._some(chance))))

    def _odd(self):
        """Requests that are refused, and some that are not."""
        app, id = self._pick(_INSTANCES)
        return self._pick(
            (
                register(app, id, hostName=LEFT_OUT),
                register(app, id, ipAddr=""),
                register(app, id, app="OTHER"),
                register(app, id, dataCenterInfo=None),
                register(app, id, dataCenterInfo={"@class": MARKER, "name": "x"}),
                post("{", app),
                post("", app, type=TYPE_XML),
                post("<!DOCTYPE x>" + xml("", app=app, id=id), app, type=TYPE_XML),
                post({"instance": instance(app, id)}, app, type=None),
                post({"instance": instance(app, id)}, app, ("Accept", "text/html")),
                register(app, id, port=8080),
                register(app, id, more={"a": [1]}),
                set_status(app, id, value="up"),
                set_status(app, id),
                remove_status(app, id, value="x"),
                renew(app, id, lastDirtyTimestamp="x"),
                metadata("", app, id),
                Request("PATCH", path("apps", app, id), (JSON,)),
                Request("DELETE", path("apps", app)),
                batch({"appName": app, "id": id, "action": "None"}),
                get("nothing", JSON),
                get(f"apps/{app}", ("Accept", "text/html")),
            )
        )
